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
INSERT INTO message VALUES('msg_203cdf5b60017ctZrx15gVO21b','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360159158,1795360176537,'{"role":"user","time":{"created":1795360159158},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_203ce33b5001UVy5My5KtyTVb8','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360175029,1795360185472,'{"parentID":"msg_203cdf5b60017ctZrx15gVO21b","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795360175029,"completed":1795360185400},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO part VALUES('prt_203cdf5d0001GyewUULfphJ77L','msg_203cdf5b60017ctZrx15gVO21b','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360159260,1795360159261,'{"type":"text","text":"Good morning, what is the state of the build"}');
INSERT INTO part VALUES('prt_203ce5a8c001fNQhrG2Wmg7Nc2','msg_203ce33b5001UVy5My5KtyTVb8','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360184973,1795360184974,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_203ce5ad90015BBPhHEwQ38s9b','msg_203ce33b5001UVy5My5KtyTVb8','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360185050,1795360185132,'{"type":"text","text":"The build is green, and nothing waits for you.","time":{"start":1795360185050,"end":1795360185089}}');
INSERT INTO part VALUES('prt_203ce5b4e001qK1fsrK0AfB7Y0','msg_203ce33b5001UVy5My5KtyTVb8','ses_dfc3227d5ffeBKXmDpz50pRSyz',1795360185166,1795360185217,'{"reason":"stop","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
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
INSERT INTO session VALUES('ses_dfc3227d5ffeBKXmDpz50pRSyz','global',NULL,NULL,'witty-forest','/tmp/home-of-agent/w','tmp/home-of-agent/w','A test','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1000,40,0,0,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock"}',1795360151594,1795360176404,NULL,NULL);
COMMIT;
