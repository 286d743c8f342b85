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
INSERT INTO message VALUES('msg_203aef51d001Tg90TKxsIAMkQg','ses_dfc51248affewIlOvCptxlsg1F',1795358127389,1795358159669,'{"role":"user","time":{"created":1795358127389},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_203af25a600111GFZFqQ3pPLPJ','ses_dfc51248affewIlOvCptxlsg1F',1795358139814,1795358159237,'{"parentID":"msg_203aef51d001Tg90TKxsIAMkQg","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795358139814,"completed":1795358159213},"finish":"stop"}');
INSERT INTO message VALUES('msg_203af84e4001Rilz9c5XmXklGh','ses_dfc51248affewIlOvCptxlsg1F',1795358164197,1795358165166,'{"role":"user","time":{"created":1795358164197},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_203af8592001Tti5kcmUPZzu1w','ses_dfc51248affewIlOvCptxlsg1F',1795358164370,1795358164385,'{"parentID":"msg_203af84e4001Rilz9c5XmXklGh","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/home-of-agent/w","root":"/"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795358164370}}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO part VALUES('prt_203aef571001RZu3z1nQeUKJ2n','msg_203aef51d001Tg90TKxsIAMkQg','ses_dfc51248affewIlOvCptxlsg1F',1795358127644,1795358127646,'{"type":"text","text":"Good morning, what is the state of the build"}');
INSERT INTO part VALUES('prt_203af7056001eWE1mmQ746BOA2','msg_203af25a600111GFZFqQ3pPLPJ','ses_dfc51248affewIlOvCptxlsg1F',1795358158934,1795358158977,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_203af70ab001Lwd959qt8y0lmH','msg_203af25a600111GFZFqQ3pPLPJ','ses_dfc51248affewIlOvCptxlsg1F',1795358159020,1795358159082,'{"type":"text","text":"The build is green, and nothing waits for you.","time":{"start":1795358159020,"end":1795358159081}}');
INSERT INTO part VALUES('prt_203af711d001XlxJVd6MkqhbLU','msg_203af25a600111GFZFqQ3pPLPJ','ses_dfc51248affewIlOvCptxlsg1F',1795358159134,1795358159160,'{"reason":"stop","type":"step-finish","tokens":{"total":1040,"input":1000,"output":40,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES('prt_203af84e5001GlNj25wEeoOx5L','msg_203af84e4001Rilz9c5XmXklGh','ses_dfc51248affewIlOvCptxlsg1F',1795358164201,1795358164202,'{"type":"text","text":"Now explain the plan, all of it"}');
INSERT INTO part VALUES('prt_203af9215001KxClTSJ5aPp9e3','msg_203af8592001Tti5kcmUPZzu1w','ses_dfc51248affewIlOvCptxlsg1F',1795358167573,1795358167619,'{"type":"step-start"}');
INSERT INTO part VALUES('prt_203af92550017Qa6R9f6XjdTfz','msg_203af8592001Tti5kcmUPZzu1w','ses_dfc51248affewIlOvCptxlsg1F',1795358167637,1795358167663,'{"type":"text","text":"","time":{"start":1795358167637}}');
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
INSERT INTO session VALUES('ses_dfc51248affewIlOvCptxlsg1F','global',NULL,NULL,'mighty-engine','/tmp/home-of-agent/w','tmp/home-of-agent/w','A test','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1000,40,0,0,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock"}',1795358120821,1795358165118,NULL,NULL);
COMMIT;
