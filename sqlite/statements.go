package sqlite

// Statements that do not depend on the schema version.
const (
	// sqlAdvance names no column of an index: none of them is touched.
	sqlAdvance = `UPDATE loom_heads SET head = ?2, mark = ?3, strikes = ?4, updated = ?5 WHERE key = ?1`
	sqlUpdate  = `UPDATE loom_heads SET head = ?2, mark = ?3, strikes = ?4, updated = ?5,
  fence = ?6, owner = ?7, state = ?8, wake_at = ?9, seen = ?10, posted = ?11 WHERE key = ?1`
	sqlInsertHead = `INSERT INTO loom_heads
  (id, head, fence, mark, birth, owner, state, wake_at, seen, strikes, flow, version, parent, labels, first_ts, created, updated)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`
	sqlDropHead    = `DELETE FROM loom_heads WHERE key = ?1`
	sqlInsertEvent = `INSERT INTO loom_events (key, sequence, kind, ts, payload, meta) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`
	sqlInsertLabel = `INSERT INTO loom_attrs (name, value, key) VALUES (?1, ?2, ?3)`
	sqlStamp       = `SELECT incarnation FROM loom_events WHERE key = ?1 AND sequence = 0`

	sqlConsume       = `DELETE FROM loom_inbox WHERE key = ?1 AND n = ?2`
	sqlMail          = `UPDATE loom_heads SET posted = ?2, wake_at = ?3 WHERE key = ?1`
	sqlInsertMessage = `INSERT INTO loom_inbox (key, n, message_id, name, body, posted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`
	sqlFindMessage   = `SELECT n FROM loom_inbox WHERE key = ?1 AND message_id = ?2`
	sqlPending       = `SELECT n, message_id, name, body, posted FROM loom_inbox WHERE key = ?1 AND n > ?2 ORDER BY n LIMIT ?3`

	sqlNode  = `SELECT id, started, expires, ttl, locked, flows FROM loom_nodes WHERE id = ?1`
	sqlNodes = `SELECT id, started, expires, ttl, locked, flows FROM loom_nodes ORDER BY id`
	sqlRenew = `INSERT INTO loom_nodes (id, started, expires, ttl, locked, flows) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (id) DO UPDATE SET expires = ?3, ttl = ?4, locked = ?5, flows = ?6`
	sqlLeave    = `DELETE FROM loom_nodes WHERE id = ?1`
	sqlOwnsSome = `SELECT 1 FROM loom_heads WHERE owner = ?1 AND owner IS NOT NULL AND state = 1 LIMIT 1`
	// sqlNextOwner walks over the owners there are, one seek each.
	sqlNextOwner = `SELECT owner FROM loom_heads WHERE owner > ?1 AND owner IS NOT NULL AND state = 1 ORDER BY owner LIMIT 1`

	sqlNextWake = `SELECT wake_at FROM loom_heads WHERE flow = ?1 AND version = ?3 AND wake_at > ?2 AND owner IS NULL AND state = 1 ORDER BY wake_at LIMIT 1`

	sqlLastKept      = `SELECT sequence FROM loom_events WHERE key = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2`
	sqlDropEvents    = `DELETE FROM loom_events WHERE key = ?1 AND sequence >= ?2`
	sqlLastMessage   = `SELECT n FROM loom_inbox WHERE key = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2`
	sqlDropMessages  = `DELETE FROM loom_inbox WHERE key = ?1 AND n >= ?2`
	sqlPairs         = `SELECT labels, published FROM loom_heads WHERE key = ?1`
	sqlDropLabel     = `DELETE FROM loom_attrs WHERE name = ?1 AND value = ?2 AND key = ?3`
	sqlLeaveFloor    = `UPDATE loom_heads SET state = 10, owner = NULL, labels = NULL, published = NULL, posted = 0, seen = 0 WHERE key = ?1`
	sqlPrefixMatches = `SELECT count(*) FROM (SELECT 1 FROM loom_heads WHERE id >= ?1 AND id < ?2 LIMIT ?3)`

	sqlPublish         = `UPDATE loom_heads SET published = ?2 WHERE key = ?1`
	sqlInsertPublished = `INSERT INTO loom_published (name, value, key) VALUES (?1, ?2, ?3)`
	sqlDropPublished   = `DELETE FROM loom_published WHERE name = ?1 AND value = ?2 AND key = ?3`

	sqlRecord       = `SELECT version, body, updated FROM loom_records WHERE space = ?1 AND name = ?2`
	sqlRecords      = `SELECT name, version, body, updated FROM loom_records WHERE space = ?1 AND name > ?2 ORDER BY name LIMIT ?3`
	sqlPutRecord    = `INSERT OR REPLACE INTO loom_records (space, name, version, body, updated) VALUES (?1, ?2, ?3, ?4, ?5)`
	sqlDeleteRecord = `DELETE FROM loom_records WHERE space = ?1 AND name = ?2`
)

// statements are those that name the incarnation, which version 1 does not have
// and code of version 1 does not look at.
type statements struct {
	row  string // the columns that a commit judges by
	head string // SELECT of a whole head row, up to and without FROM
	tip  string
	get  string
	read string

	due   string // unowned and due, of one flow and version
	owned string // of one owner, flow and version
	ofOne string // of one owner
	mail  string // of one owner, with unseen mail
}

func newStatements(schema int) *statements {
	incarnation := "h.incarnation"
	if schema < schemaIncarnation {
		incarnation = "NULL"
	}
	head := `SELECT h.id, h.head, h.fence, h.owner, h.state, h.wake_at, h.posted, h.seen, h.strikes, h.mark,
  h.flow, h.version, h.parent, h.labels, h.created, h.updated, ` + incarnation + `, h.first_ts, h.key, h.published`
	const due = ` AND h.strikes < ?3`
	return &statements{
		row: `SELECT h.key, h.head, h.fence, h.owner, h.state, h.wake_at, h.posted, h.seen, h.strikes, h.updated, h.mark, h.birth, ` +
			incarnation + `, h.first_ts FROM loom_heads h WHERE h.id = ?1`,
		head: head,
		tip: `SELECT h.head, h.fence, h.mark, ` + incarnation + `, h.first_ts FROM loom_heads h
  WHERE h.id = ?1 AND h.state <> 10`,
		get: head + ` FROM loom_heads h WHERE h.id = ?1 AND h.state <> 10`,
		read: `SELECT h.key, h.head, e.sequence, e.kind, e.ts, e.payload, e.meta
  FROM loom_heads h CROSS JOIN loom_events e ON e.key = h.key
  WHERE h.id = ?1 AND h.state <> 10 AND e.sequence >= ?2 ORDER BY e.sequence LIMIT ?3`,
		due: head + ` FROM loom_heads h INDEXED BY loom_heads_runnable
  WHERE h.flow = ?1 AND h.version = ?5 AND h.wake_at <= ?2 AND h.owner IS NULL AND h.state = 1` + due + ` ORDER BY h.wake_at LIMIT ?4`,
		owned: head + ` FROM loom_heads h INDEXED BY loom_heads_owned
  WHERE h.owner = ?1 AND h.flow = ?2 AND h.version = ?6 AND h.owner IS NOT NULL AND h.state = 1` + due + `
  AND (h.strikes = 0 OR h.updated + (1000000 << h.strikes) <= ?5) LIMIT ?4`,
		ofOne: head + ` FROM loom_heads h INDEXED BY loom_heads_owned
  WHERE h.owner = ?1 AND h.owner IS NOT NULL AND h.state = 1`,
		mail: head + ` FROM loom_heads h INDEXED BY loom_heads_mail
  WHERE h.owner = ?1 AND h.owner IS NOT NULL AND h.state = 1 AND h.posted > h.seen`,
	}
}
