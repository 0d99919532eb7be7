package sqlite

// Versions of the schema. Each is one step from the one before; a step never
// changes once it was released.
const (
	schemaPlain       = 1 // SPI 2.2.0: a log's anchor is made of its first event
	schemaIncarnation = 2 // SPI 2.3.0: sequence 0 carries an incarnation
	schemaVersions    = 3 // the indexes of what is runnable go by flow and version
	schemaNewest      = schemaVersions
)

// stateGone marks the head row that is left of a deleted execution where there
// are no incarnations: its token is the floor for the next execution of the id.
// It never leaves this package.
const stateGone = 10

// step1 makes the tables.
//
// Only loom_events is the log. In loom_heads first_ts repeats the time of
// sequence 0, labels repeats loom_attrs (as published, an addition, repeats
// loom_published), and (from version 2 on) incarnation
// repeats the one of sequence 0, so that a commit and a listing touch one row;
// where they disagree, loom_events is right and Diagnose says so.
//
// Rows of events hang on key, which is never reused, so rows of two executions
// with one id cannot mix. An integer key and an ordinary rowid table write least:
// the price of a commit is the pages it touches.
//
// The indexes are partial, so that an execution that has ended costs nothing, and
// the ordinary commit of a runner touches none of them.
const step1 = `
CREATE TABLE IF NOT EXISTS loom_meta (
  name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE loom_heads (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  head INTEGER NOT NULL, fence INTEGER NOT NULL, mark BLOB NOT NULL, birth BLOB NOT NULL,
  owner TEXT, state INTEGER NOT NULL, wake_at INTEGER NOT NULL,
  posted INTEGER NOT NULL DEFAULT 0, seen INTEGER NOT NULL DEFAULT 0, strikes INTEGER NOT NULL DEFAULT 0,
  flow TEXT NOT NULL, version TEXT NOT NULL, parent TEXT NOT NULL, labels BLOB,
  first_ts INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL);
CREATE INDEX loom_heads_runnable ON loom_heads (flow, wake_at) WHERE owner IS NULL AND state = 1;
CREATE INDEX loom_heads_owned ON loom_heads (owner, flow) WHERE owner IS NOT NULL AND state = 1;
CREATE INDEX loom_heads_mail ON loom_heads (owner) WHERE owner IS NOT NULL AND state = 1 AND posted > seen;
CREATE INDEX loom_heads_state ON loom_heads (state) WHERE state <> 2;
CREATE INDEX loom_heads_flow ON loom_heads (flow);
CREATE TABLE loom_events (
  key INTEGER NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL, ts INTEGER NOT NULL,
  payload BLOB, meta BLOB,
  PRIMARY KEY (key, sequence));
CREATE TABLE loom_inbox (
  key INTEGER NOT NULL, n INTEGER NOT NULL, message_id TEXT NOT NULL, name TEXT NOT NULL,
  body BLOB, posted INTEGER NOT NULL,
  PRIMARY KEY (key, n), UNIQUE (key, message_id));
CREATE TABLE loom_attrs (
  name TEXT NOT NULL, value TEXT NOT NULL, key INTEGER NOT NULL,
  PRIMARY KEY (name, value, key)) WITHOUT ROWID;
CREATE TABLE loom_nodes (
  id TEXT PRIMARY KEY, started INTEGER NOT NULL, expires INTEGER NOT NULL, ttl INTEGER NOT NULL,
  locked INTEGER NOT NULL, flows BLOB) WITHOUT ROWID;
CREATE TABLE loom_records (
  space TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, body BLOB, updated INTEGER NOT NULL,
  PRIMARY KEY (space, name)) WITHOUT ROWID;
`

// step2 adds incarnations. The trigger stands in the file, so every insert of a
// sequence 0 is stamped, by whatever program it comes; the counter only grows,
// so no value names two executions. Rows that are there already get none: what
// was observed of them stays valid.
//
// The stamp is an UPDATE after the insert. RETURNING does not see it, and a guard
// that forbids updates of loom_events would make every start fail.
const step2Trigger = `
CREATE TRIGGER IF NOT EXISTS loom_events_incarnation AFTER INSERT ON loom_events WHEN NEW.sequence = 0
BEGIN
  UPDATE loom_incarnations SET n = n + 1 WHERE one = 1;
  UPDATE loom_events SET incarnation = (SELECT n FROM loom_incarnations WHERE one = 1) WHERE rowid = NEW.rowid;
  UPDATE loom_heads SET incarnation = (SELECT n FROM loom_incarnations WHERE one = 1) WHERE key = NEW.key;
END;
`

const step2Counter = `
CREATE TABLE IF NOT EXISTS loom_incarnations (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL);
INSERT INTO loom_incarnations (one, n) VALUES (1, 0) ON CONFLICT DO NOTHING;
`

// step3 makes the indexes that a scan goes by tell the versions of a flow apart, so that
// executions which wait for a build that is not there cost the others nothing. They keep
// their names: statements of code of an earlier version still find them, and are slower.
const step3 = `
DROP INDEX loom_heads_runnable;
CREATE INDEX loom_heads_runnable ON loom_heads (flow, version, wake_at) WHERE owner IS NULL AND state = 1;
DROP INDEX loom_heads_owned;
CREATE INDEX loom_heads_owned ON loom_heads (owner, flow, version) WHERE owner IS NOT NULL AND state = 1;
`
