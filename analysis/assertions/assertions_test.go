package assertions_test

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// revision is a directory, compiled.
type revision struct {
	side *diff.Side
	set  *assertions.Set
}

var now = time.Unix(0, 0)

func snapshotOf(files map[string]string) source.Snapshot {
	var out source.Snapshot
	for name, content := range files {
		f := source.NewFile(name, []byte(content))
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func compiler() *assertions.Compiler {
	return &assertions.Compiler{Activate: func(ctx context.Context, b *bundles.Bundle) (*diff.Side, error) {
		e, err := engine.Activate(ctx, b, engine.Options{Now: func() time.Time { return now }})
		if err != nil {
			return nil, err
		}
		return &diff.Side{World: statement.Of(e), Judge: judge.Of(e), Revision: e.Loaded().Revision}, nil
	}}
}

// open compiles files. Those below a folder that begins with a dot are beside the policy.
func open(t *testing.T, files map[string]string) *revision {
	t.Helper()
	policy, beside := make(map[string]string), make(map[string]string)
	for name, content := range files {
		if strings.HasPrefix(name, ".") {
			beside[name] = content
		} else {
			policy[name] = content
		}
	}
	snapshot := snapshotOf(policy)
	snapshot.Aside = func(_ context.Context, name string) (source.Snapshot, diag.List, error) {
		found := make(map[string]string)
		for file, content := range beside {
			if path.Dir(file) == name {
				found[path.Base(file)] = content
			}
		}
		if len(found) == 0 {
			return source.Snapshot{}, nil, fs.ErrNotExist
		}
		return snapshotOf(found), nil, nil
	}
	c := compiler()
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	side, err := c.Activate(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return &revision{side, assertions.Of(result.Directory.Documents(), snapshot, c.Compile)}
}

const roles = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: view}, rules: [{apiGroups: [''], resources: [pods, secrets], verbs: [get]}]}\n"

func binding(name, namespace, user string) string {
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %s, namespace: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]}\n", name, namespace, user)
}

func document(assertion string) string {
	return "apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: d}\nspec:\n  assertions:\n    - {name: a, " + assertion + "}\n"
}

func (r *revision) check(t *testing.T) {
	t.Helper()
	if err := r.set.Check(t.Context()); err != nil || r.set.List.HasErrors() {
		t.Fatal(err, r.set.List)
	}
}

// What depends on files of another revision is old if it did so there, and new for a request
// that did not.
func TestIndependentBesideABase(t *testing.T) {
	apart := document(`independent: {documents: "tenants/a/**"}, of: {namespace: [b, c]}`)
	files := func(more string) map[string]string {
		return map[string]string{"roles.yaml": roles, "assert.yaml": apart, "b.yaml": binding("b", "b", "bob"), "tenants/a/a.yaml": binding("a", "b", "ann") + "---\n" + binding("own", "a", "ann") + more}
	}
	base := open(t, files(""))
	for _, row := range []struct {
		name, more  string
		old, failed bool
		place       string
	}{
		{"the same", "", true, false, "b"},
		{"one namespace more", "---\n" + binding("c", "c", "ann"), false, true, "c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := open(t, files(row.more))
			r.check(t)
			in := &verify.Input{Side: r.side, Now: now, SetNow: func(time.Time) {}, AllByBase: true}
			report, err := r.set.Run(t.Context(), in, &assertions.Base{Side: base.side, Set: base.set})
			if err != nil {
				t.Fatal(err)
			}
			got := report.Assertions[0]
			if got.Old != row.old || got.Failed != row.failed || got.ByBase == nil || got.ByBase.Verdict != verify.Fails || got.Witness == nil || got.Witness.Requests[0].Request["namespace"] != row.place {
				t.Errorf("got %+v, by the base %+v", got, got.ByBase)
			}
		})
	}
}

// By a base that does not have an assertion's failure, what holds has a verdict too.
func TestVerdictsByTheBase(t *testing.T) {
	only := document(`never: allowed, of: {resource: secrets, namespace: shop}, unless: {holds: "user:ann"}`)
	base := open(t, map[string]string{"roles.yaml": roles, "a.yaml": binding("a", "shop", "eve") + "---\n" + binding("b", "shop", "ann"), "assert.yaml": only})
	r := open(t, map[string]string{"roles.yaml": roles, "a.yaml": binding("b", "shop", "ann"), "assert.yaml": only})
	r.check(t)
	report, err := r.set.Run(t.Context(), &verify.Input{Side: r.side, Now: now, SetNow: func(time.Time) {}, AllByBase: true}, &assertions.Base{Side: base.side, Set: base.set})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Assertions[0]; got.Verdict != verify.Holds || got.ByBase == nil || got.ByBase.Verdict != verify.Fails {
		t.Errorf("got %+v, by the base %+v", got, got.ByBase)
	}
}

// A reference is read beside the policy; one that is not there is a mistake at its place.
func TestReferences(t *testing.T) {
	files := map[string]string{"roles.yaml": roles, "a.yaml": binding("a", "shop", "ann"), ".base/all.yaml": roles + "---\n" + binding("a", "shop", "ann")}
	for _, row := range []struct{ form, verdict, mistake string }{
		{`within: {documents: .base}`, verify.Holds, ""},
		{`equals: {documents: .base}`, verify.Holds, ""},
		{`within: {documents: .none}`, "", `no-reference`},
		{`independent: {documents: "none/**"}`, verify.Vacuous, ""},
		{`independent: {documents: "a.yaml"}, of: {namespace: shop}`, verify.Fails, ""},
	} {
		files["assert.yaml"] = document(row.form)
		r := open(t, files)
		if err := r.set.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row.mistake != "" {
			if len(r.set.List) != 1 || string(r.set.List[0].Code) != row.mistake || r.set.List[0].Line != 6 {
				t.Errorf("%s: got %v", row.form, r.set.List)
			}
			continue
		}
		report, err := r.set.Verify(t.Context(), r.side, nil, now, func(time.Time) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Assertions[0]; got.Verdict != row.verdict {
			t.Errorf("%s: got %s: %s", row.form, got.Verdict, got.Text)
		}
	}
}

func TestOnly(t *testing.T) {
	for _, row := range []struct {
		patterns []string
		id       string
		want     bool
	}{
		{nil, "d/a", true}, {[]string{"d/*"}, "d/a", true}, {[]string{"d/*"}, "e/a", false}, {[]string{"x", "e/?"}, "e/a", true},
	} {
		isIncluded, err := assertions.Only(row.patterns)
		if err != nil || isIncluded(row.id) != row.want {
			t.Errorf("%v of %s: got %t, %v", row.patterns, row.id, !row.want, err)
		}
	}
	if _, err := assertions.Only([]string{"[a"}); err == nil {
		t.Error("a pattern that is not closed is accepted")
	}
}

// Depths without end in a pattern take no time, and each stands for any number of folders.
func TestManyDepths(t *testing.T) {
	files := map[string]string{"roles.yaml": roles, "a/b/c/d/e/f/g/h/i/j.yaml": binding("b", "shop", "u")}
	deep := strings.TrimSuffix(strings.Repeat("**/", 80), "/")
	for pattern, want := range map[string]string{
		deep + "/k.yaml": verify.Vacuous, deep + "/j.yaml": verify.Fails, "a/**/j.yaml": verify.Fails, "a/*/j.yaml": verify.Vacuous,
	} {
		files["assert.yaml"] = document(fmt.Sprintf("independent: {documents: %q}, of: {verb: get, resource: pods, namespace: shop}", pattern))
		r := open(t, files)
		if err := r.set.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		report, err := r.set.Verify(t.Context(), r.side, nil, now, func(time.Time) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Assertions[0].Verdict; got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}
