package deny

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// denyTests writes, for each deny policy, one file: for each rule requests that it denies
// and others, which differ in one value, with what it makes of them; for pod security pods
// with their risk factors, exempt ones, and the score that reaches each threshold. What is
// asked is the policy itself, since another may be judged before it.
func denyTests(deny *tables.Deny) map[string][]byte {
	files := make(map[string][]byte)
	if deny == nil {
		return files
	}
	for i := range deny.Policies[:min(len(deny.Policies), emit.TestedRoles)] {
		policy := &deny.Policies[i]
		t := denySamples{policy: policy, forms: map[string]any{}, sections: map[string]map[string]any{}}
		t.scope()
		for j := range policy.Rules {
			t.rule(&policy.Rules[j])
		}
		for j := range policy.Impersonation {
			t.impersonation(&policy.Impersonation[j])
		}
		if policy.Pod != nil {
			t.pod()
		}
		if name := emit.FileName(policy.Name); len(t.sections) > 0 {
			files["compiled/tests/deny/"+name+"_test.rego"] = t.module(name)
		}
	}
	escalationTests(deny, files)
	if len(deny.Resources) > 0 {
		files["compiled/tests/deny_resources/deny_resources_test.rego"] = fmt.Appendf(nil, `# METADATA
# description: The resources are those that deny policies name.
package compiled.tests.deny_resources_test

test_resources if %s == %q
`, regotext.HashOf("data.compiled.deny_resources.named"), regotext.Hash(deny.Resources))
	}
	return files
}

// denySamples are the rows of one policy's tests.
type denySamples struct {
	policy   *tables.DenyPolicy
	base     request        // in the scope of the policy
	forms    map[string]any // the requests that rows differ from, and what rules state about them
	sections map[string]map[string]any
}

// add adds a row to the rows of a test.
func (t *denySamples) add(test, note string, row map[string]any) {
	rows := t.sections[test]
	if rows == nil {
		rows = make(map[string]any)
		t.sections[test] = rows
	}
	if within, out := t.policy.Dates.Samples(); t.policy.Dates != nil {
		row["now"] = append(within, out...)[0]
	}
	rows[note] = row
}

const (
	testRule = "test_rule"
	testPod  = "test_pod"
)

// form is what rows have in common: a request, and what the policy states about it before and
// after whether labels are unknown. fit is what it makes of any request.
type form struct {
	name   string
	base   request
	before []any
	after  []any
	fit    func(request) fit
}

// add adds rows for the base of a form and its variations to those of a test. A policy with
// dates is asked at each bound and one nanosecond before.
func (f *form) add(t *denySamples, test string, list []variation) {
	t.forms[f.name] = map[string]any{"request": f.base, "before": f.before, "after": append([]any{}, f.after...)}
	want := func(r request) fit {
		if t.policy.Dates != nil && t.policy.Dates.Never {
			return noFit
		}
		return f.fit(r)
	}
	within, out := t.policy.Dates.Samples()
	switch {
	case t.policy.Dates == nil || t.policy.Dates.Never:
		t.add(test, f.name, map[string]any{"of": f.name, "want": want(f.base)})
	default:
		for _, now := range slices.Concat(within, out) {
			row := map[string]any{"of": f.name, "want": want(f.base)}
			if slices.Contains(out, now) {
				row["want"] = noFit
			}
			t.add(test, f.name+" at "+now.String(), row)
			row["now"] = now
		}
	}
	if t.policy.Dates != nil && len(within) == 0 {
		return // it never holds
	}
	for _, v := range list {
		t.add(test, f.name+", "+v.note, map[string]any{"of": f.name, "with": request{v.key: v.value}, "want": want(f.base.with(v.key, v.value))})
	}
}

func (t *denySamples) scope() {
	// The policy is tested without the library, which would add these defaults.
	t.base = request{
		"user": "writ:user", "groups": []string{}, "apiGroup": "", "resource": "", "subresource": "", "namespace": "", "name": "",
		"path": "", "podError": "", "namespaceLabels": map[string]string{},
	}
	for i, globs := range t.policy.Scope() {
		key := tables.ScopeAttributes[i].Key
		t.base[key] = ""
		if len(*globs) > 0 {
			t.base[key] = (*globs)[0].Sample()
		}
	}
}

// rule adds a form for each action and resource of the rule.
func (t *denySamples) rule(r *tables.DenyRule) {
	for i := range r.Actions {
		for j := range r.Resources {
			action, resource := &r.Actions[i], &r.Resources[j]
			hit := maps.Clone(t.base)
			hit["verb"], hit["apiGroup"] = firstOr(action.Verbs, action.VerbPrefix+"get"), firstOr(action.Groups, "")
			hit.aim(resource)
			if len(r.Names) > 0 {
				hit["name"] = r.Names[0].Sample()
			} else if r.NeedsName {
				hit["name"] = "writ-name"
			}
			place(hit, r.Namespaces)
			f := form{
				fmt.Sprintf("rule %d.%d.%d", r.Rule, i, j), hit, []any{t.policy.Precedence, t.policy.Name, 0, r.Rule, r.Source}, nil,
				func(q request) fit { return t.fitOf(rule.Deny(r), q) },
			}
			f.add(t, testRule, t.ruleVariations(r, action, resource, hit))
		}
	}
}

// aim sets the resource and subresource of a request to those of a rule.
func (r request) aim(d *tables.DenyResource) {
	r["resource"], r["subresource"] = firstOr(d.Resources, "pods"), firstOr(d.Subresources, "")
	if d.NeedsSubresource && r["subresource"] == "" {
		r["subresource"] = "status"
	}
}

// place puts a request into a namespace that the filter matches.
func place(hit request, f *tables.NamespaceFilter) {
	if f == nil {
		return
	}
	hit["namespace"] = "writ-namespace"
	if len(f.Patterns) > 0 {
		hit["namespace"] = f.Patterns[0].Sample()
	}
	if len(f.Terms) > 0 {
		delete(hit, "namespaceLabels") // labels that are not known are denied as well
	}
}

// firstOr is the first of the words, or the other where any word fits.
func firstOr(words []string, other string) string {
	if len(words) == 0 {
		return other
	}
	return words[0]
}

func notef(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func (t *denySamples) module(name string) []byte {
	var out bytes.Buffer
	clock := ""
	if t.policy.Dates != nil {
		clock = " with time.now_ns as row.now"
	}
	fmt.Fprintf(&out, `# METADATA
# description: |
#   What one deny policy denies and what it leaves alone. Generated from it; its
#   source: %[1]s
package compiled.tests.deny%[2]s

_request(row) := object.union(_forms[row.of].request, object.get(row, "with", {}))

# Of rules whose labels are known, and of others.
_want(row) := set() if row.want == 0

_want(row) := {array.concat(array.concat(form.before, [row.want == 2]), form.after)} if {
	row.want > 0
	form := _forms[row.of]
}

_finds(row) := {found |
	request := _request(row)
	before := _forms[row.of].before
	some found in data.compiled.deny.rules with input as request%[3]s
	array.slice(found, 1, 4) == array.slice(before, 1, 4)
}
`, regotext.Comment(t.policy.Source), regotext.Key(name+"_test"), clock)
	if t.policy.Pod != nil {
		t.podHelpers(&out, clock)
	}
	if p := t.policy.Dates; p != nil && p.Until != nil {
		fmt.Fprintf(&out, "\ntest_end if data.compiled.deny.until%s == %d\n", regotext.Key(t.policy.Name), *p.Until)
	}
	for _, test := range slices.Sorted(maps.Keys(t.sections)) {
		writeRows(&out, test, holdsIf[test], t.sections[test])
	}
	emit.WriteMap(&out, "_forms", t.forms)
	return out.Bytes()
}

// holdsIf are the conditions that a row of a test must meet.
var holdsIf = map[string]string{
	testRule: "_finds(row) == _want(row)",
	testPod:  "_judges(row) == _want(row)", testPoints: "_points(row) == row.want", testExempt: "_is_exempt(row) == row.want",
	testThreshold: "_reaches(row)",
}

// writeRows writes a test of rows, and the rows by their notes.
func writeRows(out *bytes.Buffer, test, holds string, rows map[string]any) {
	fmt.Fprintf(out, "\n%[1]s[note] if {\n\tsome note, row in _%[1]s_rows\n\t%[2]s\n}\n", test, holds)
	emit.WriteMap(out, "_"+test+"_rows", rows)
}
