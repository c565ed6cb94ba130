package access

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// testRow is one row of a generated test: a request, and whether the rule decides it
// through the binding.
type testRow struct {
	note    string
	decides bool
	Request map[string]any `json:"request"`
	Binding map[string]any `json:"binding"`
	// Now is the time of the request, nil for a binding without dates.
	Now *dates.Instant `json:"now,omitempty"`
}

// accessTests returns one file for each bound role, with two rows for each rule: a
// request that the rule decides, and a similar one that it must not decide. Each other binding
// of the role that has dates has the rows of one rule.
func accessTests(access *tables.Access) map[string][]byte {
	files := make(map[string][]byte)
	bound, dated := firstBindings(access)
	for _, key := range slices.Sorted(maps.Keys(bound)) {
		if len(files) == emit.TestedRoles {
			break
		}
		role := access.Roles.At(key)
		rows := roleRows(access, role, bound[key], "")
		for _, other := range dated[key][:min(len(dated[key]), testedDates)] {
			if other.key != bound[key].key {
				rows = append(rows, ruleRows(roleRows(access, role, other, "by "+other.key+", "))...)
			}
		}
		if len(rows) == 0 {
			continue
		}
		name := emit.FileName(role.Family, role.Namespace, role.Name)
		files["compiled/tests/access/"+name+"_test.rego"] = testModule(name, role, rows)
	}
	return files
}

// bindingSubject is the key of a binding and one of its subjects.
type bindingSubject struct {
	key     string
	subject string
}

// firstBindings returns, for each role, its first binding with a subject, and the first
// subject of that binding; and its bindings with dates, in the order of their keys.
func firstBindings(access *tables.Access) (map[string]bindingSubject, map[string][]bindingSubject) {
	first, subjects := make(map[string]bindingSubject), make(map[string]string)
	note := func(of tables.Map[[]string]) {
		for subject, keys := range of.All() {
			for _, key := range *keys {
				binding := access.Bindings.Find(key)
				have, ok := first[binding.Role]
				if !ok || key < have.key || key == have.key && subject < have.subject {
					first[binding.Role] = bindingSubject{key, subject}
				}
				if have, ok := subjects[key]; binding.Dates != nil && (!ok || subject < have) {
					subjects[key] = subject
				}
			}
		}
	}
	note(access.Subjects.Cluster)
	for _, subjects := range access.Subjects.Namespaces.All() {
		note(*subjects)
	}
	dated := make(map[string][]bindingSubject)
	for _, key := range slices.Sorted(maps.Keys(subjects)) {
		role := access.Bindings.At(key).Role
		dated[role] = append(dated[role], bindingSubject{key, subjects[key]})
	}
	return first, dated
}

// testedDates is how many bindings of one role are tested because they have dates.
const testedDates = 20

// ruleRows returns the rows of the first rule that has some.
func ruleRows(rows []testRow) []testRow {
	for i := range rows {
		if rows[i].Binding["rule"] != rows[0].Binding["rule"] {
			return rows[:i]
		}
	}
	return rows
}

// roleRows returns the rows of a binding of a role. of is put before their notes.
func roleRows(access *tables.Access, role tables.Role, by bindingSubject, of string) []testRow {
	binding := access.Bindings.At(by.key)
	var rows []testRow
	add := func(rule int, pair samplePair) {
		if pair.hit == nil {
			return
		}
		want := map[string]any{
			"kind": binding.Kind, "namespace": binding.Namespace, "name": binding.Name,
			"apiVersion": binding.APIVersion, "rule": rule,
		}
		for _, request := range []map[string]any{pair.hit, pair.miss} {
			identify(request, by.subject)
			if !binding.Cluster {
				request["namespace"] = binding.Namespace
			}
		}
		hit := testRow{note: of + fmt.Sprintf("rule %d", rule), decides: true, Request: pair.hit, Binding: want}
		miss := testRow{note: of + fmt.Sprintf("beside rule %d", rule), Request: pair.miss, Binding: want}
		if binding.Dates == nil {
			rows = append(rows, hit, miss)
			return
		}
		rows = append(rows, datedRows(hit, miss, binding.Dates)...)
	}
	for _, rule := range role.Kubernetes {
		if len(rule.Paths) == 0 || binding.Cluster {
			add(rule.Rule, sampleKubernetes(rule))
		}
	}
	for _, rule := range role.Origin {
		add(rule.Rule, sampleOrigin(rule))
	}
	return rows
}

// datedRows returns the rows of a binding with dates: at each bound, and one nanosecond
// before.
func datedRows(hit, miss testRow, period *dates.Period) []testRow {
	within, out := period.Samples()
	if len(within) == 0 {
		return nil // the binding never holds
	}
	var rows []testRow
	add := func(row testRow, now dates.Instant, decides bool) {
		row.note, row.Now, row.decides = row.note+" at "+now.String(), &now, decides
		rows = append(rows, row)
	}
	for _, now := range within {
		add(hit, now, true)
	}
	for _, now := range out {
		add(hit, now, false)
	}
	add(miss, append(within, out...)[0], false)
	return rows
}

// identify sets the requester to the subject or, without one, to a user that no document
// names.
func identify(request map[string]any, subject string) {
	if _, other := request[otherRequester]; other {
		delete(request, otherRequester)
		request["user"] = "writ:unbound"
		return
	}
	request["user"] = ""
	if of := tables.ParseSubject(subject); of.IsGroup {
		request["groups"] = []string{of.Name}
	} else {
		request["user"] = of.Name
	}
}

func testModule(name string, role tables.Role, rows []testRow) []byte {
	var out bytes.Buffer
	clock := ""
	if slices.ContainsFunc(rows, func(r testRow) bool { return r.Now != nil }) {
		clock = " with time.now_ns as row.now"
		for i := range rows {
			rows[i].Now = cmp.Or(rows[i].Now, new(dates.Instant)) // at any time
		}
	}
	fmt.Fprintf(&out, `# METADATA
# description: |
#   What the rules of one role decide and what they leave alone. Generated from
#   the role; its source: %[1]s
package compiled.tests.access[%[2]s]

_matches(entry, row) if {
	every key, value in row.binding {
		entry[key] == value
	}
}

_decides(row) if {
	some entry in data.writ.access.matched with input as row.request%[3]s
	_matches(entry, row)
}

test_rule[note] if {
	some note, row in _decisive
	_decides(row)
}

test_neighbour[note] if {
	some note, row in _neighbours
	not _decides(row)
}
`, regotext.Comment(role.Source), regotext.Quote(name+"_test"), clock)
	noted := func(row testRow) (string, any) { return row.note, row }
	emit.WriteRows(&out, "_decisive", elements.Filter(rows, func(row testRow) bool { return row.decides }), noted)
	emit.WriteRows(&out, "_neighbours", elements.Filter(rows, func(row testRow) bool { return !row.decides }), noted)
	return out.Bytes()
}
