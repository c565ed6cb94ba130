package translator

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	_ "github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

var update = flag.Bool("update", false, "rewrite the want/ files of testdata")

// A golden is an archive of documents with what becomes of them. Its comment
// says what it proves. Beside the documents it may hold
//
//	options           lines "master: NAME", "allow-empty", "strict-routes", "forbid-unset", "silent CODE", "may VERB RESOURCE NAME",
//	                  "now: TIME", "user: NAME", "group: NAME"; silent leaves a code out of want/
//	base/...          documents of the base revision of an author's change
//	want/diagnostics  always compared; absent means none
//	want/lint, want/data.json   compared where present
//	want/effective   likewise: what is in force on each gateway and route
type golden struct {
	path    string
	archive *txtar.Archive
	options options
}

type options struct {
	Options
	silent []diag.Code
	author lint.Author
	may    []string
	now    time.Time
}

// ends reports the ends of documents around the time of the golden, if it has one.
func (o options) ends() lint.Ends {
	return lint.Ends{Now: o.now, Expired: 30 * 24 * time.Hour, Within: 14 * 24 * time.Hour}
}

func goldens(t testing.TB) []golden {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no golden was found")
	}
	var out []golden
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{path: path, archive: archive}
		g.options = parseOptions(t, path, string(g.section("options")))
		out = append(out, g)
	}
	return out
}

func parseOptions(t testing.TB, path, text string) options {
	t.Helper()
	var o options
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "":
		case "master:":
			o.Settings = o.Settings.With(settings.Settings{settings.MasterNamespace: {Text: rest}})
		case string(settings.StrictRoutes), string(settings.StrictKinds), string(settings.ForbidUnset), string(settings.ClusterExport):
			o.Settings = o.Settings.With(settings.Settings{settings.Key(word): {Text: "true"}})
		case "default-namespace:", "bootstrap-roles:", "implied-groups:", "session-group-prefixes:":
			o.Settings = o.Settings.With(settings.Settings{settings.Key(strings.TrimSuffix(word, ":")): {Text: rest}})
		case "allow-empty":
			o.AllowEmpty = true
		case "silent":
			o.silent = append(o.silent, diag.Code(rest))
		case "now:":
			at, err := dates.Parse(rest)
			if err != nil {
				t.Fatalf("%s: now: %v", path, err)
			}
			o.now = at
		case "user:":
			o.author.User = rest
		case "group:":
			o.author.Groups = append(o.author.Groups, rest)
		case "may":
			o.may = append(o.may, rest)
		default:
			t.Fatalf("%s: unknown option %q", path, word)
		}
	}
	o.author.May = func(q lint.Question) bool {
		return slices.Contains(o.may, fmt.Sprintf("%s %s.%s %s/%s", q.Verb, q.Resource, q.APIGroup, q.Namespace, q.Name))
	}
	return o
}

// section is a file of the archive, nil where it is not there.
func (g golden) section(name string) []byte {
	for _, f := range g.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// snapshot is the documents below a folder of the archive.
func (g golden) snapshot(folder string) source.Snapshot {
	var s source.Snapshot
	for _, f := range g.archive.Files {
		if f.Name == "options" || strings.HasPrefix(f.Name, "want/") {
			continue
		}
		name, inside := strings.CutPrefix(f.Name, folder)
		if inside && !strings.HasPrefix(name, "base/") {
			s.Files = append(s.Files, file(name, string(f.Data)))
		}
	}
	slices.SortFunc(s.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return s
}

// outcome is what becomes of a golden's documents, by the name of the file that
// wants it.
func (g golden) outcome(t *testing.T) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	result, list := New(g.options.Options).Translate(t.Context(), g.snapshot(""))
	out["want/diagnostics"] = g.text(list)
	if result == nil {
		return out
	}
	var data bytes.Buffer
	if err := json.Indent(&data, result.Data.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	out["want/data.json"] = data.Bytes()
	out["want/effective"] = effectiveText(t, tables.Of[*tables.Gateway](result.Tables))
	if g.options.author.User == "" && g.options.author.Groups == nil {
		found := Lint(result, g.options.ends())
		for i, d := range slices.Concat(list, found) {
			if isCheck := i < len(list); lint.InCheck(d.Code) != isCheck && d.Code != diag.NeverValid { // lint finds it in sessions
				t.Errorf("%s: found by check: got %v, want %v", d.Code, !isCheck, isCheck)
			}
		}
		out["want/lint"] = g.text(found)
		return out
	}
	var base *Result
	if before := g.snapshot("base/"); len(before.Files) > 0 {
		base = mustTranslate(t, New(g.options.Options), before)
	}
	out["want/lint"] = g.text(LintAuthor(result, base, g.options.author, g.options.now))
	return out
}

// effectiveText is the answers for all gateways and routes, of the kinds that there
// are policies of.
func effectiveText(t *testing.T, g *tables.Gateway) []byte {
	t.Helper()
	var targets []string
	for _, o := range g.Gateways {
		targets = append(targets, tables.TargetName("Gateway", o.Namespace, o.Name, ""))
	}
	for _, r := range g.Routes {
		targets = append(targets, tables.TargetName("HTTPRoute", r.Namespace, r.Name, ""))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	for _, kind := range effective.Kinds {
		if !slices.ContainsFunc(g.Policies, func(p tables.GatewayPolicy) bool { return p.Kind == kind }) {
			continue
		}
		for _, target := range targets {
			found, err := effective.Find(g, effective.Query{Kind: kind, Target: target})
			if err != nil {
				t.Fatal(err)
			}
			if err := encoder.Encode(found); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.Bytes()
}

// text writes a list as a terminal has it, without excerpts of the source.
func (g golden) text(list diag.List) []byte {
	list = slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
		return slices.Contains(g.options.silent, d.Code)
	})
	var out bytes.Buffer
	if err := diag.WriteText(&out, list, diag.TextOptions{}); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

func TestGoldens(t *testing.T) {
	if *update && os.Getenv("CI") != "" {
		t.Fatal("goldens must not be rewritten in CI, where the change is not reviewed")
	}
	for _, g := range goldens(t) {
		t.Run(strings.TrimSuffix(g.path, ".txtar"), func(t *testing.T) {
			if len(bytes.TrimSpace(g.archive.Comment)) == 0 {
				t.Error("the first paragraph is missing: it must state what this golden proves")
			}
			got := g.outcome(t)
			if *update {
				g.rewrite(t, got)
				return
			}
			wanted := 0
			for _, name := range []string{"want/diagnostics", "want/lint", "want/data.json", "want/effective"} {
				want := g.section(name)
				if want != nil {
					wanted++
				} else if name != "want/diagnostics" {
					continue
				}
				if !bytes.Equal(got[name], want) {
					t.Errorf("%s: got\n%s\nwant\n%s", name, got[name], want)
				}
			}
			if wanted == 0 {
				t.Error("nothing is wanted")
			}
		})
	}
}

// rewrite brings the want/ files that are there up to date. Diagnostics come and
// go by themselves.
func (g golden) rewrite(t *testing.T, got map[string][]byte) {
	t.Helper()
	var files []txtar.File
	for _, f := range g.archive.Files {
		if f.Name == "want/diagnostics" {
			continue
		}
		if strings.HasPrefix(f.Name, "want/") {
			f.Data = got[f.Name]
		}
		files = append(files, f)
	}
	if len(got["want/diagnostics"]) > 0 {
		files = append(files, txtar.File{Name: "want/diagnostics", Data: got["want/diagnostics"]})
	}
	g.archive.Files = files
	if err := os.WriteFile(g.path, txtar.Format(g.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
