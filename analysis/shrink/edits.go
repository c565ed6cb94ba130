package shrink

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
)

// Edit is one change of a document, with what the log shows about it.
type Edit struct {
	Source string `json:"source"`
	// Kind is one of wildcards, entries, split, rule, subject, binding and role.
	Kind     string      `json:"kind"`
	Document DocumentRef `json:"document"`
	Field    string      `json:"field,omitempty"`
	From     []string    `json:"from,omitempty"`
	To       []string    `json:"to,omitempty"`
	Text     string      `json:"text"`
	Events   int         `json:"events"`
	Evidence string      `json:"evidence"`

	// Written is the text of a rule without an event, as the file has it; empty for other edits.
	Written string `json:"-"`
}

// DocumentRef names a document.
type DocumentRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (d *document) ref() DocumentRef {
	return DocumentRef{d.header.Kind, d.header.Namespace, d.header.Name}
}

// compareEdits orders edits by file and line.
func compareEdits(a, b Edit) int {
	place := func(source string) (string, int) {
		at := strings.LastIndexByte(source, ':')
		line, _ := strconv.Atoi(source[at+1:])
		return source[:max(at, 0)], line
	}
	fileA, lineA := place(a.Source)
	fileB, lineB := place(b.Source)
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(lineA, lineB))
}

func (w *writer) document(d *document, kind, evidence string) Edit {
	return Edit{Source: d.line(nil), Kind: kind, Document: d.ref(), Text: fmt.Sprintf("- %s removed", d.name()), Evidence: evidence}
}

func (w *writer) subject(s *subject) Edit {
	seen := get(w.seen.subjects, s)
	e := Edit{
		Source: s.binding.line(s.at), Kind: "subject", Document: s.binding.ref(), Events: seen.count,
		Text: fmt.Sprintf("- subject %s removed", s.principal), Evidence: fmt.Sprintf("no event of %s held it", number(w.seen.total)),
	}
	if seen.count > 0 {
		e.Evidence = seen.head() + ", all allowed by other grants"
	}
	return e
}

func (w *writer) evidenceOfBinding(b *binding) string {
	seen := get(w.seen.bindings, b)
	if seen.count > 0 {
		return seen.head() + ", all allowed by other grants"
	}
	return fmt.Sprintf("no event of %s held a subject of it", number(w.seen.total))
}

func (w *writer) rule(r *rule) Edit {
	seen := get(w.seen.rules, r)
	e := Edit{Source: r.source, Kind: "rule", Document: r.role.ref(), Events: seen.count, Text: fmt.Sprintf("- rule removed (%s)", r.title()), Evidence: "no event"}
	if seen.count > 0 {
		e.Evidence = seen.head() + ", all allowed by other grants"
	} else {
		e.Written = r.role.file.Item(r.node)
	}
	return e
}

func (w *writer) split(r *rule) Edit {
	seen := get(w.seen.rules, r)
	e := Edit{Source: r.source, Kind: "split", Document: r.role.ref(), Events: seen.count, Evidence: seen.text(nil)}
	for _, p := range r.parts {
		e.To = append(e.To, r.titleOf(p[:]))
	}
	e.From = []string{r.title()}
	e.Text = fmt.Sprintf("rule (%s) -> (%s)", r.title(), strings.Join(e.To, "), ("))
	return e
}

func (w *writer) list(r *rule, l *list, items []edit.Item) Edit {
	seen, values := get(w.seen.rules, r), make(map[string]int)
	for at, n := range w.seen.values[r] {
		if at[0] == l.name {
			values[at[1]] += n
		}
	}
	e := Edit{Source: r.role.line(l.field.Key), Kind: OnlyEntries, Document: r.role.ref(), Field: l.name, Events: seen.count, Evidence: seen.text(values)}
	for i, item := range items {
		written := l.field.Value.Items[i].Value
		e.From = append(e.From, written)
		switch {
		case item.Values != nil && !item.Drop:
			e.To = append(e.To, item.Values...)
			e.Kind = OnlyWildcards
		case !item.Drop:
			e.To = append(e.To, written)
		}
	}
	e.Text = fmt.Sprintf("%s [%s] -> [%s]", l.name, brief(e.From), brief(e.To))
	return e
}

// title describes a rule by its verbs and resources.
func (r *rule) title() string {
	lists := make([][]string, len(r.lists))
	for i := range r.lists {
		for _, e := range r.lists[i].entries {
			lists[i] = append(lists[i], e.value)
		}
		for _, e := range r.lists[i].not {
			lists[i] = append(lists[i], "-"+e.value)
		}
	}
	return r.titleOf(lists)
}

func (r *rule) titleOf(lists [][]string) string {
	values := func(i int) string {
		out := elements.Map(lists[i], entryOf)
		sortValues(r.lists[i].name, out)
		return brief(out)
	}
	what := values(1)
	if len(r.lists) == 4 {
		what = values(2)
		if groups := values(1); groups != `""` && groups != "" {
			what += " of " + groups
		}
		if names := slices.DeleteFunc(slices.Clone(lists[3]), func(v string) bool { return v == "" }); len(names) > 0 {
			what += " " + brief(names)
		}
	}
	return values(0) + " " + what
}

// longest is how many values of a list a line has.
const longest = 8

func brief(values []string) string {
	out := elements.Map(values[:min(len(values), longest)], func(v string) string { return cmp.Or(v, `""`) })
	if more := len(values) - longest; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// tally is how many events use something, and when.
type tally struct {
	count       int
	first, last time.Time
}

// tallies are the events that each part of the documents allows.
type tallies struct {
	rules    map[*rule]*tally
	subjects map[*subject]*tally
	bindings map[*binding]*tally
	values   map[*rule]map[[2]string]int // events by list and value
	total    int
}

func (u *Use) tallies() *tallies {
	out := &tallies{make(map[*rule]*tally), make(map[*subject]*tally), make(map[*binding]*tally), make(map[*rule]map[[2]string]int), 0}
	for _, k := range u.classes {
		out.total += k.count
		rules, subjects, bindings := make(map[*rule]bool), make(map[*subject]bool), make(map[*binding]bool)
		options := slices.Concat(k.options, k.beside)
		for _, o := range options {
			addTo(out.rules, rules, o.rule, k)
			addTo(out.subjects, subjects, o.subject, k)
			addTo(out.bindings, bindings, o.subject.binding, k)
		}
		for r := range rules {
			at := slices.IndexFunc(options, func(o option) bool { return o.rule == r })
			if len(options[at].cells) == 0 {
				continue
			}
			if out.values[r] == nil {
				out.values[r] = make(map[[2]string]int)
			}
			for i := range r.lists {
				if v := options[at].cells[0][i]; v != "" {
					out.values[r][[2]string{r.lists[i].name, entryOf(v)}] += k.count
				}
			}
		}
	}
	return out
}

// addTo counts the events of a class for a part of the documents, once.
func addTo[K comparable](into map[K]*tally, met map[K]bool, of K, k *class) {
	if met[of] {
		return
	}
	met[of] = true
	t := into[of]
	if t == nil {
		t = new(tally)
		into[of] = t
	}
	t.count += k.count
	if !k.first.IsZero() && (t.first.IsZero() || k.first.Before(t.first)) {
		t.first = k.first
	}
	if k.last.After(t.last) {
		t.last = k.last
	}
}

func get[K comparable](tallies map[K]*tally, of K) *tally {
	if t := tallies[of]; t != nil {
		return t
	}
	return new(tally)
}

func (t *tally) head() string { return diag.Counted(t.count, "event") }

// text states the events, how many need each value, and from when to when.
func (t *tally) text(values map[string]int) string {
	parts := []string{t.head()}
	names := make([]string, 0, len(values))
	for v := range values {
		names = append(names, v)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(values[b]-values[a], strings.Compare(a, b)) })
	for _, v := range names[:min(len(names), longest)] {
		parts = append(parts, fmt.Sprintf("%s %s", cmp.Or(v, `""`), number(values[v])))
	}
	if !t.first.IsZero() {
		parts = append(parts, t.first.Format(time.DateOnly)+" to "+t.last.Format(time.DateOnly))
	}
	return strings.Join(parts, ", ")
}

// number writes a number with commas.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// verbOrder is the order of Kubernetes' own lists.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// sortValues sorts the values of a list, verbs as Kubernetes lists them.
func sortValues(name string, values []string) {
	slices.SortFunc(values, func(a, b string) int {
		if name == "verbs" {
			i, j := slices.Index(verbOrder, a), slices.Index(verbOrder, b)
			if i != j && (i >= 0 || j >= 0) {
				if i < 0 || j < 0 {
					return j - i
				}
				return i - j
			}
		}
		return strings.Compare(a, b)
	})
}
