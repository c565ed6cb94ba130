package accept_test

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/accept"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

var now = time.Date(2026, 1, 31, 23, 59, 0, 0, time.UTC)

func all(diag.Code) bool { return true }

func warning(file string, line int, code diag.Code) diag.Diagnostic {
	return diag.Diagnostic{Position: diag.Position{File: file, Line: line, Column: 1}, Severity: diag.Warning, Code: code, Message: "m"}
}

// texts formats diagnostics for comparisons.
func texts(list diag.List) string {
	var out []string
	for _, d := range list {
		out = append(out, d.Position.Source()+" "+string(d.Code))
	}
	return strings.Join(out, ", ")
}

// A comment silences the findings of its code on the lines that it concerns.
func TestComments(t *testing.T) {
	for _, row := range []struct {
		name, text string
		line       int // of the finding
		want       string
	}{
		{"above", "# writ:ignore risk-exec why\nkind: a", 2, ""},
		{"above with other comments between", "# writ:ignore risk-exec why\n# more\nkind: a", 3, ""},
		{"at the end of the line", "kind: a # writ:ignore risk-exec why", 1, ""},
		{"above the apiVersion before the kind", "# writ:ignore risk-exec why\n- apiVersion: v1\n  kind: a", 3, ""},
		{"line ends of other systems", "\r\n# writ:ignore risk-exec why\rkind: a", 3, ""},
		{"without blanks", "#writ:ignore risk-exec why\nkind: a", 2, ""},
		{"above another line", "# writ:ignore risk-exec why\nname: a\nkind: a", 3, "a.yaml:1 unused-acceptance, a.yaml:3 risk-exec"},
		{"at the end of the line above", "name: a # writ:ignore risk-exec why\nkind: a", 2, "a.yaml:1 unused-acceptance, a.yaml:2 risk-exec"},
		{"below", "kind: a\n# writ:ignore risk-exec why", 1, "a.yaml:1 risk-exec, a.yaml:2 unused-acceptance"},
		{"in another document", "# writ:ignore risk-exec why\n---\nkind: a", 3, "a.yaml:1 unused-acceptance, a.yaml:3 risk-exec"},
		{"another code", "# writ:ignore risk-delete why\nkind: a", 2, "a.yaml:1 unused-acceptance, a.yaml:2 risk-exec"},
		{"without a reason", "# writ:ignore risk-exec \nkind: a", 2, "a.yaml:1 bad-acceptance, a.yaml:2 risk-exec"},
		{"in quotes", `kind: "a # writ:ignore risk-exec why"`, 1, "a.yaml:1 risk-exec"},
		{"in quotes with escapes", `kind: "\" # writ:ignore risk-exec why"`, 1, "a.yaml:1 risk-exec"},
		{"in a word", "kind: a# writ:ignore risk-exec why", 1, "a.yaml:1 risk-exec"},
		{"after an apostrophe in a word", "kind: it's # writ:ignore risk-exec why", 1, ""},
		{"another word", "# writ:ignored risk-exec why\nkind: a", 2, "a.yaml:2 risk-exec"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := accept.Input{Now: now, Raises: all, Snapshot: source.Snapshot{Files: []source.File{source.NewFile("a.yaml", []byte(row.text))}}}
			kept, silenced := accept.Apply(diag.List{warning("a.yaml", row.line, "risk-exec")}, in)
			if got := texts(kept); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if len(silenced) == 1 && (silenced[0].By.Reason != "why" || !silenced[0].By.IsComment) {
				t.Errorf("got %+v", silenced)
			}
		})
	}
}

// Errors are never silenced, whatever accepts their code.
func TestErrorsStay(t *testing.T) {
	file := source.NewFile("a.yaml", []byte("# writ:ignore dangling-role why\nkind: a"))
	in := accept.Input{Now: now, Raises: all, Snapshot: source.Snapshot{Files: []source.File{file}, Origins: []source.Origin{
		{Accepted: []settings.Acceptance{{Code: "dangling-role", Path: "**", Reason: "x"}}},
	}}}
	d := warning("a.yaml", 2, "dangling-role")
	in.Baseline = accept.NewBaseline("b.json", diag.List{d}, nil)
	d.Severity = diag.Error
	kept, silenced := accept.Apply(diag.List{d}, in)
	if len(silenced) > 0 || texts(kept) != "a.yaml:2 dangling-role" {
		t.Errorf("got %q and %+v", texts(kept), silenced)
	}
}

// What a source accepts silences its own findings alone, for the files of a pattern, until
// the end of a day.
func TestSources(t *testing.T) {
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name     string
		accepted settings.Acceptance
		now      time.Time
		want     string
	}{
		{"all files", settings.Acceptance{Path: "**"}, now, "two/x/a.yaml:1 risk-exec"},
		{"a folder", settings.Acceptance{Path: "x/"}, now, "two/x/a.yaml:1 risk-exec"},
		{"a file", settings.Acceptance{Path: "/x/a.yaml"}, now, "two/x/a.yaml:1 risk-exec"},
		{"the path in the union", settings.Acceptance{Path: "/one/x/a.yaml"}, now, "one/.writ.yaml:1 unused-acceptance, one/x/a.yaml:1 risk-exec, two/x/a.yaml:1 risk-exec"},
		{"the last day", settings.Acceptance{Path: "**", Until: day}, now, "two/x/a.yaml:1 risk-exec"},
		{"the day after", settings.Acceptance{Path: "**", Until: day}, now.Add(time.Minute), "one/.writ.yaml:1 expired-acceptance, one/x/a.yaml:1 risk-exec, two/x/a.yaml:1 risk-exec"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.accepted.Code, row.accepted.Reason = "risk-exec", "why"
			row.accepted.At = diag.Position{File: "one/.writ.yaml", Line: 1}
			in := accept.Input{Now: row.now, Raises: all, Snapshot: source.Snapshot{
				Files:   []source.File{{Path: "one/x/a.yaml"}, {Path: "two/x/a.yaml", Origin: 1}},
				Origins: []source.Origin{{Name: "one", Accepted: []settings.Acceptance{row.accepted}}, {Name: "two"}},
			}}
			kept, _ := accept.Apply(diag.List{warning("one/x/a.yaml", 1, "risk-exec"), warning("two/x/a.yaml", 1, "risk-exec")}, in)
			if got := texts(kept); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A baseline names documents and not lines, and silences as many findings as it counts.
func TestBaseline(t *testing.T) {
	documents := func(line int) []syntax.Document {
		return []syntax.Document{
			&syntax.Header{Kind: "Role", Name: "a", At: diag.Position{File: "a.yaml", Line: 2}},
			&syntax.Header{Kind: "Role", Name: "b", Namespace: "shop", At: diag.Position{File: "a.yaml", Line: line}},
		}
	}
	held := warning("a.yaml", 5, "risk-exec")
	held.Subjects = []string{"user:a"}
	was := diag.List{warning("a.yaml", 1, "unknown-verb"), warning("a.yaml", 4, "unknown-verb"), warning("a.yaml", 6, "unknown-verb"),
		held, warning("a.yaml", 7, "unused-acceptance")}
	written := accept.NewBaseline("b.json", was, documents(5)).Encode()
	want := `{"findings": [
{"code":"risk-exec","document":"Role shop/b","message":"m","subjects":["user:a"]},
{"code":"unknown-verb","document":"Role a","message":"m"},
{"code":"unknown-verb","document":"Role shop/b","message":"m","count":2}
]}
`
	if string(written) != want {
		t.Fatalf("got %s", written)
	}
	moved := func(lines ...int) diag.List {
		var list diag.List
		for _, line := range lines {
			list.Add(warning("a.yaml", line, "unknown-verb"))
		}
		again := held
		again.Line = 11
		list.Add(again)
		return list
	}
	other := held
	other.Line, other.Subjects = 11, []string{"user:b"}
	for _, row := range []struct {
		name string
		list diag.List
		want string
	}{
		{"moved", moved(3, 10, 12), ""},
		{"one more", moved(3, 10, 12, 13), "a.yaml:13 unknown-verb"},
		{"one fewer", moved(3, 12), "b.json:4 unused-acceptance"},
		{"gone", moved(10, 12), "b.json:3 unused-acceptance"},
		{"another subject", append(moved(3, 10, 12)[:3], other), "a.yaml:11 risk-exec, b.json:2 unused-acceptance"},
		{"after errors", diag.List{{Code: "yaml"}}, " yaml"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, err := accept.ParseBaseline("b.json", written)
			if err != nil {
				t.Fatal(err)
			}
			kept, _ := accept.Apply(row.list, accept.Input{Documents: documents(11), Baseline: b, Raises: all})
			if got := texts(kept); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	for _, text := range []string{"", "[]", `{"findings":[{}]}`, `{"findings":[{"code":"a","document":"b","message":"c","count":-1}]}`, `{"findings":[]} x`, `{"findings":[{"line":1}]}`} {
		if _, err := accept.ParseBaseline("b.json", []byte(text)); err == nil || !strings.Contains(err.Error(), "read baseline b.json: ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
