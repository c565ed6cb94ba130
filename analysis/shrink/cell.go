package shrink

import (
	"cmp"
	"slices"
	"strings"

	words "github.com/writ-policy/writ/translator/rule"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/server/decision"
)

// cell is one value of each list of a rule, in the order of its lists. The value of a list
// that places no condition, or of which nothing may change, is empty.
type cell [4]string

// maxCells bounds the cells of a rule that are looked at one by one.
const maxCells = 20_000

// wanted is the form in which lists compare a request.
type wanted struct {
	q     *decision.Request
	verbs []string // that the request carries, for rules of Origin
	sub   string
}

func wants(q *decision.Request) wanted {
	sub := words.Subresource(q.Verb, q.Subresource)
	return wanted{q, words.Carried(q.Verb, sub), sub}
}

// values returns the values of a list that an event may use, the narrowest first: entries,
// and what a "*" stands for. It is empty for a list that does not fit.
func (r *rule) values(l *list, w wanted, o *Options) []string {
	var out []string
	isFree := len(l.entries) == 0 && l.name == "resourceNames"
	hasWild := slices.ContainsFunc(l.entries, entry.isWild) && l.name != "nonResourceURLs" && l.name != "resourceNames"
	for _, e := range l.entries {
		if (!e.isWild() || !hasWild) && r.fits(l, e.value, w) {
			out = append(out, e.value)
		}
	}
	if isFree {
		return []string{""}
	}
	if !o.does(OnlyEntries) && len(out) > 0 {
		return []string{""} // it stays whatever is used
	}
	for _, e := range l.entries {
		if !hasWild || !e.isWild() || !r.fits(l, e.value, w) {
			continue
		}
		if o.does(OnlyWildcards) {
			out = append(out, elements.Filter(r.meanings(l, w), func(v string) bool { return r.holds(l, e.value, v) })...)
		}
		out = append(out, e.value)
	}
	if !o.does(OnlyEntries) && !o.does(OnlyWildcards) && len(out) > 0 {
		return []string{""}
	}
	return slices.Compact(out)
}

// meanings returns what a "*" of a list stands for in an event, the narrowest first; nothing if
// only a "*" covers it.
func (r *rule) meanings(l *list, w wanted) []string {
	switch l.name {
	case "apiGroups":
		return []string{valueOf(w.q.APIGroup)}
	case "resources":
		if w.q.Resource != "*" {
			return []string{strings.TrimSuffix(w.q.Resource+"/"+w.q.Subresource, "/")}
		}
		return nil
	case "resourceKinds":
		kind := strings.ToLower(w.q.Resource)
		out := slices.Compact([]string{strings.TrimSuffix(kind+"/"+strings.ToLower(w.sub), "/"), kind})
		return slices.DeleteFunc(out, func(k string) bool { return !kindForm.MatchString(k) })
	}
	switch {
	case w.q.Verb == "*":
		return nil
	case !r.isOrigin:
		return []string{w.q.Verb}
	}
	return slices.DeleteFunc(slices.Clone(w.verbs), func(v string) bool { return strings.Contains(v, ":") })
}

// empty stands for the empty value of a list, such as the core API group.
const empty = "\x00"

// valueOf returns the value of a cell for an entry of a list.
func valueOf(entry string) string { return cmp.Or(entry, empty) }

// entryOf returns the entry of a list for the value of a cell.
func entryOf(value string) string { return strings.TrimPrefix(value, empty) }

// fits reports whether an entry covers an event.
func (r *rule) fits(l *list, value string, w wanted) bool {
	switch l.name {
	case "verbs":
		if r.isOrigin {
			return value == "*" || slices.Contains(w.verbs, value)
		}
		return value == "*" || value == w.q.Verb
	case "apiGroups":
		return value == "*" || value == valueOf(w.q.APIGroup)
	case "resources":
		kind, sub, slash := strings.Cut(value, "/")
		return value == "*" || slash && w.q.Subresource == sub && (kind == "*" || kind == w.q.Resource) || !slash && w.q.Subresource == "" && value == w.q.Resource
	case "resourceNames":
		return value == valueOf(w.q.Name)
	case "nonResourceURLs":
		return words.CoversPath(value, w.q.Path)
	}
	kind, sub, slash := strings.Cut(value, "/")
	return (!slash || strings.EqualFold(sub, w.sub)) && (kind == "*" || words.SameKind(kind, strings.ToLower(w.q.Resource)))
}

// cells returns those that an event may use of a rule, the narrowest first.
func (r *rule) cells(w wanted, o *Options) []cell {
	out := []cell{{}}
	for i := range r.lists {
		var next []cell
		for _, c := range out {
			for _, v := range r.values(&r.lists[i], w, o) {
				c[i] = v
				next = append(next, c)
			}
		}
		out = next
	}
	return out
}

// covers reports whether a rule, as it is written, has a cell.
func (r *rule) covers(c cell) bool {
	for i := range r.lists {
		l := &r.lists[i]
		if c[i] == "" && l.name == "resourceNames" && len(l.entries) > 0 && len(r.pool.rules) > 1 {
			return false // the cell is of a rule without names; of a rule alone, names that stay are empty
		}
		if c[i] != "" && !slices.ContainsFunc(l.entries, func(e entry) bool { return r.holds(l, e.value, c[i]) }) {
			return false
		}
	}
	return true
}

// holds reports whether an entry of a list covers a value of a cell.
func (r *rule) holds(l *list, value, of string) bool {
	if value == of {
		return true
	}
	kind, sub, slash := strings.Cut(value, "/")
	_, ofSub, _ := strings.Cut(of, "/")
	return l.name != "nonResourceURLs" && l.name != "resourceNames" && kind == "*" && (!slash || sub == ofSub)
}

// product returns the cells of a rule as it is written, and false if there are too many.
func (r *rule) product() ([]cell, bool) {
	out := []cell{{}}
	for i := range r.lists {
		if len(r.lists[i].entries) == 0 {
			continue
		}
		var next []cell
		for _, c := range out {
			for _, e := range r.lists[i].entries {
				c[i] = e.value
				next = append(next, c)
			}
		}
		if out = next; len(out) > maxCells {
			return nil, false
		}
	}
	return out, true
}
