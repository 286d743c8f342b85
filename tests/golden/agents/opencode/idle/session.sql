PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO message VALUES('msg_2039ddfbf001wGG370s18SPKLo','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357007807,1795357020205,'{"role":"user","time":{"created":1795357007807},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_2039ded51001KaNiR83CwRJvdz','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357011281,1795357020135,'{"parentID":"msg_2039ddfbf001wGG370s18SPKLo","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795357011281,"completed":1795357020122},"finish":"stop"}');
INSERT INTO message VALUES('msg_2039e1e7d001YPEqMrMiAbYes8','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357023869,1795357027481,'{"role":"user","time":{"created":1795357023869},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_2039e1f3a0018tmSu2yh0VnbQD','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357024058,1795357026535,'{"parentID":"msg_2039e1e7d001YPEqMrMiAbYes8","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795357024058,"completed":1795357026517},"finish":"tool-calls"}');
INSERT INTO message VALUES('msg_2039e28ea001qmWSx2SwzQjq6V','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357026538,1795357027349,'{"parentID":"msg_2039e1e7d001YPEqMrMiAbYes8","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795357026538,"completed":1795357027347},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO part VALUES('prt_2039ddfce001dunZnYrugkPk1t','msg_2039ddfbf001wGG370s18SPKLo','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357007874,1795357007881,'{"type":"text","text":"Good morning, tell me how the cache works"}');
INSERT INTO part VALUES('prt_2039e0f2e0013RuqZIPSmMNWkw','msg_2039ded51001KaNiR83CwRJvdz','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357019950,1795357019990,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_2039e0f690010szvQSv8IkaViq','msg_2039ded51001KaNiR83CwRJvdz','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357020009,1795357020073,'{"type":"text","text":"The cache has **three** layers, and each of them is asked only when the one before it had no answer for what was wanted.\n\n1. Memory, which is lost at a restart\n2. The disk: 中文 and ümlauts are welcome there\n3. The network\n\n```c\nint main(void)\n{\n\treturn 0;\n}\n```\n\nThat is all.","time":{"start":1795357020009,"end":1795357020054}}');
INSERT INTO part VALUES('prt_2039e0fb50014qOAWNWwXexhhk','msg_2039ded51001KaNiR83CwRJvdz','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357020085,1795357020086,'{"reason":"stop","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES('prt_2039e1e7e001s2iE6bJuGz7php','msg_2039e1e7d001YPEqMrMiAbYes8','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357023901,1795357023924,'{"type":"text","text":"Please count the notes"}');
INSERT INTO part VALUES('prt_2039e23ee001x0jIZVQiUjDyx4','msg_2039e1f3a0018tmSu2yh0VnbQD','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357025262,1795357025289,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_2039e2437001pQnrKzKhDKRqob','msg_2039e1f3a0018tmSu2yh0VnbQD','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357025335,1795357025589,'{"type":"text","text":"I count them.","time":{"start":1795357025335,"end":1795357025554}}');
INSERT INTO part VALUES('prt_2039e246e001AKIwG0xKHHo8tc','msg_2039e1f3a0018tmSu2yh0VnbQD','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357025390,1795357026353,'{"type":"tool","tool":"bash","callID":"call_mock11829x4","state":{"status":"completed","input":{"command":"grep -c . notes.txt && echo counted with care","description":"Run it"},"output":"3\ncounted with care\n","metadata":{"output":"3\ncounted with care\n","exit":0,"truncated":false},"title":"grep -c . notes.txt && echo counted with care","time":{"start":1795357025515,"end":1795357026352}}}');
INSERT INTO part VALUES('prt_2039e285b001jS4XCEcn5uwvkk','msg_2039e1f3a0018tmSu2yh0VnbQD','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357026395,1795357026397,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES('prt_2039e2b5c001ZqF6JHewuUNnwM','msg_2039e28ea001qmWSx2SwzQjq6V','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357027164,1795357027166,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_2039e2b74001MqZNfvbvSnPOUO','msg_2039e28ea001qmWSx2SwzQjq6V','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357027189,1795357027226,'{"type":"text","text":"There are three notes, and none of them is empty.","time":{"start":1795357027189,"end":1795357027225}}');
INSERT INTO part VALUES('prt_2039e2bb5001H5M0XmaRwD1u8H','msg_2039e28ea001qmWSx2SwzQjq6V','ses_dfc622ce8ffeidtCEY0j2n72mr',1795357027253,1795357027254,'{"reason":"stop","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO session VALUES('ses_dfc622ce8ffeidtCEY0j2n72mr','global',NULL,NULL,'happy-sailor','/tmp/home-of-agent/w','tmp/home-of-agent/w','A test','1.18.33',NULL,0,0,0,NULL,NULL,0.0,3000,120,0,0,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock"}',1795357004589,1795357027420,NULL,NULL);
COMMIT;
