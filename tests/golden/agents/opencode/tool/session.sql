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
INSERT INTO message VALUES('msg_2039ea432001aM4yWsgN64QV7Q','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357058123,1795357069620,'{"role":"user","time":{"created":1795357058123},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_2039eaf46001u9bGEYZR3tExhK','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357060934,1795357069455,'{"parentID":"msg_2039ea432001aM4yWsgN64QV7Q","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795357060934,"completed":1795357069434},"finish":"stop"}');
INSERT INTO message VALUES('msg_2039edf4c001VWTbMIJV9JINpM','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073228,1795357073577,'{"role":"user","time":{"created":1795357073228},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_2039edf7a001ul76432lbVSNWg','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073274,1795357073284,'{"parentID":"msg_2039edf4c001VWTbMIJV9JINpM","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795357073274}}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO part VALUES('prt_2039ea44e001t2JQrwzj0soynl','msg_2039ea432001aM4yWsgN64QV7Q','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357058206,1795357058217,'{"type":"text","text":"Good morning, what is the state of the build"}');
INSERT INTO part VALUES('prt_2039ecfef001ziR51EL1U3jJE6','msg_2039eaf46001u9bGEYZR3tExhK','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357069296,1795357069297,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_2039ed0000018yRtlkvkr6Me5v','msg_2039eaf46001u9bGEYZR3tExhK','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357069312,1795357069350,'{"type":"text","text":"The build is green, and nothing waits for you.","time":{"start":1795357069312,"end":1795357069349}}');
INSERT INTO part VALUES('prt_2039ed052001m5VROKKGvj9eA3','msg_2039eaf46001u9bGEYZR3tExhK','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357069394,1795357069409,'{"reason":"stop","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES('prt_2039edf4d001bZXHhzWWXoinpz','msg_2039edf4c001VWTbMIJV9JINpM','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073244,1795357073245,'{"type":"text","text":"Please run the slow migration"}');
INSERT INTO part VALUES('prt_2039ee1be001kCcCgY5vv5ZIIk','msg_2039edf7a001ul76432lbVSNWg','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073854,1795357073859,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_2039ee1c5001lwCEoCEO3TT0hj','msg_2039edf7a001ul76432lbVSNWg','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073861,1795357074070,'{"type":"text","text":"The migration starts now, table by table.","time":{"start":1795357073861,"end":1795357074052}}');
INSERT INTO part VALUES('prt_2039ee1d5001EiTx46oIfKMtRK','msg_2039edf7a001ul76432lbVSNWg','ses_dfc6167c1ffem7v4g3wLuQz9oP',1795357073877,1795357075945,'{"type":"tool","tool":"bash","callID":"call_mock6429x4","state":{"metadata":{"output":"migrating table 1\nmigrating table 2\nmigrating table 3\nmigrating table 4\nmigrating table 5\nmigrating table 6\nmigrating table 7\nmigrating table 8\n"},"status":"running","input":{"command":"sh migrate.sh --all --tables-of ''the old store''","description":"Run it"},"time":{"start":1795357073983}}}');
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
INSERT INTO session VALUES('ses_dfc6167c1ffem7v4g3wLuQz9oP','global',NULL,NULL,'clever-circuit','/tmp/home-of-agent/w','tmp/home-of-agent/w','A test','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1000,40,0,0,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock"}',1795357055054,1795357073572,NULL,NULL);
COMMIT;
