//go:build unix

package sqlite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// explain returns the engine's plan for a statement, one step a line.
func explain(t *testing.T, c *sqlite3.Conn, statement string) string {
	t.Helper()
	st, _, err := c.PrepareTransient("EXPLAIN QUERY PLAN " + statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer st.Finalize()
	var lines []string
	for {
		more, err := st.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, st.ColumnText(3))
	}
}

// constants returns the values of the string constants named sql… in this
// package, so that a new statement cannot be forgotten here.
func constants(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"statements.go", "read.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, "sql") {
				return true
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all[v.Names[0].Name] = text
			return true
		})
	}
	if len(all) < 25 {
		t.Fatalf("found only %d statements", len(all))
	}
	return all
}

// No statement that runs in the course of work looks at rows one by one, and none
// sorts: the cost of a due scan, a listing or a read does not grow with what is
// not asked for.
func TestPlans(t *testing.T) {
	db := open(t)
	all := constants(t)
	s := db.sql
	for name, statement := range map[string]string{"row": s.row, "tip": s.tip, "get": s.get, "read": s.read, "due": s.due, "owned": s.owned,
		"ofOne": s.ofOne, "mail": s.mail} {
		all[name] = statement
	}
	// A few nodes: each of them is looked at.
	delete(all, "sqlNodes")
	labels := map[string]string{"a": "1", "b": "2"}
	for i, q := range []store.Query{
		{}, {Flow: "f"}, {States: []store.State{store.StateFailed}}, {States: []store.State{store.StateRunning}, Flow: "f"},
		{States: []store.State{store.StateCompleted}}, {States: []store.State{store.StateFailed, store.StateRunning}},
		{Labels: labels}, {Labels: labels, Flow: "f", States: []store.State{store.StateRunning}}, {Prefix: "p"}, {Prefix: "p", Labels: labels},
		{Published: labels}, {Published: labels, Labels: labels, Flow: "f"}, {Prefix: "p", Published: labels},
	} {
		all[fmt.Sprintf("list %d", i)] = db.plan(q, false).query
		// The few ids of a prefix are sorted, and found by an index.
		if q.Prefix != "" {
			plan := explain(t, db.writer.conn, db.plan(q, true).query)
			if !strings.Contains(plan, "sqlite_autoindex_loom_heads_1 (id>? AND id<?)") {
				t.Errorf("list by prefix %d: %s", i, plan)
			}
		}
	}
	for name, statement := range all {
		plan := explain(t, db.writer.conn, statement)
		for line := range strings.SplitSeq(plan, "\n") {
			if strings.HasPrefix(line, "SCAN") && line != "SCAN CONSTANT ROW" && !strings.Contains(line, "(subquery") || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s: %s\n%s", name, line, statement)
			}
		}
	}
	for name, index := range map[string]string{"due": "loom_heads_runnable (flow=? AND version=? AND wake_at<?)", "owned": "loom_heads_owned (owner=? AND flow=? AND version=?)",
		"ofOne": "loom_heads_owned (owner=?)", "mail": "loom_heads_mail (owner=?)", "sqlNextWake": "loom_heads_runnable (flow=? AND version=? AND wake_at>?)",
		"sqlNextOwner": "loom_heads_owned (owner>?)", "list 1": "loom_heads_flow (flow=? AND rowid<?)", "list 2": "loom_heads_state (state=? AND rowid<?)",
		"list 6": "PRIMARY KEY (name=? AND value=? AND key<?)", "list 10": "PRIMARY KEY (name=? AND value=? AND key<?)", "read": "sqlite_autoindex_loom_events_1 (key=? AND sequence>?)"} {
		if plan := explain(t, db.writer.conn, all[name]); !strings.Contains(plan, index) {
			t.Errorf("%s does not go by %s:\n%s", name, index, plan)
		}
	}
}

// The ordinary commit of a runner names no column that an index looks at.
func TestAdvanceTouchesNoIndex(t *testing.T) {
	db := open(t)
	_, set, _ := strings.Cut(sqlAdvance, "SET")
	set, _, _ = strings.Cut(set, "WHERE")
	indexes, err := text(db.writer.conn, "SELECT group_concat(sql, ' ') FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'loom_heads'")
	if err != nil {
		t.Fatal(err)
	}
	for assignment := range strings.SplitSeq(set, ",") {
		column, _, _ := strings.Cut(strings.TrimSpace(assignment), " ")
		for word := range strings.FieldsFuncSeq(indexes, func(r rune) bool { return !(r == '_' || 'a' <= r && r <= 'z') }) {
			if word == column {
				t.Errorf("the column %s stands in an index", column)
			}
		}
	}
}
