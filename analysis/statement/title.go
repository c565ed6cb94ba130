package statement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// JoinTexts joins the texts that are not empty.
func JoinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// ConditionText states what allow statements require beyond members of a request that are
// stated, and where they hold if the namespace is open. It is empty if one of them requires
// nothing. isSelecting states that servers apply selectors to the requests.
func ConditionText(list []*Statement, open map[string]bool, isSelecting bool) string {
	var texts []string
	places := make(map[string][]string) // by requirement; the empty place is everywhere
	for _, s := range list {
		if s.Effect != OutcomeAllow {
			continue
		}
		text, place := JoinTexts(openText(s, open), requirement(s, isSelecting)), ""
		if open["namespace"] {
			place = s.Namespace
		}
		if text == "" && place == "" {
			texts = nil
			break
		}
		texts, places[text] = append(texts, text), append(places[text], place)
	}
	texts = tables.Once(texts)
	for i, text := range texts {
		if in := tables.Entries(places[text]); !slices.Contains(in, "") {
			texts[i] = strings.TrimPrefix(text+" in "+strings.Join(Shorten(in), ", "), " ")
		}
	}
	text := strings.Join(texts, " or ")
	var denials []string
	for _, s := range list {
		if s.Effect == OutcomeDeny {
			denials = append(denials, denialText(s, isSelecting))
		}
	}
	if len(denials) > 0 {
		text = JoinTexts(text, "unless "+strings.Join(Shorten(tables.Once(denials)), " or "))
	}
	return text
}

// denialText names a deny rule, with what it requires.
func denialText(s *Statement, isSelecting bool) string {
	if text := requirement(s, isSelecting); text != "" {
		return text + " (" + s.Title() + ")"
	}
	return s.Title()
}

// openText states which values of open members a statement has.
func openText(s *Statement, open map[string]bool) string {
	var parts []string
	add := func(member, name string, entries []string) {
		if open[member] && len(entries) > 0 && !slices.Equal(entries, []string{"*"}) {
			parts = append(parts, name+" "+strings.Join(Shorten(entries), ", "))
		}
	}
	switch c := s.Rule().(type) {
	case *KubernetesRule:
		add("verb", "verb", c.Verbs)
		add("apiGroup", "API group", groupNames(c.Groups))
		add("resource", "resource", c.Resources)
	case *OriginRule:
		add("verb", "verb", tables.Negated(c.Verbs, c.NotVerbs))
		add("resource", "resource", tables.Negated(c.Kinds, c.NotKinds))
	}
	if cluster := s.Cluster(); cluster != "" {
		add("cluster", "cluster", []string{cluster})
	}
	return strings.Join(parts, ", ")
}

// requirement states what one statement requires.
func requirement(s *Statement, isSelecting bool) string {
	switch c := s.Rule().(type) {
	case *KubernetesRule:
		if len(c.Names) > 0 {
			return "name " + strings.Join(Shorten(c.Names), ", ")
		}
	case *debugRule:
		return "pod " + strings.Join(Shorten(podNames(c.s.Pods)), ", ")
	case *OriginRule:
		if c.Restrictions != nil {
			if selectors := selectorText(c.Restrictions); isSelecting && selectors != "" {
				others := *c.Restrictions
				others.Labels, others.Select = nil, nil
				return strings.TrimSuffix(selectors+" and "+restrictionText(&others, Longest), " and ")
			}
			return restrictionText(c.Restrictions, Longest)
		}
	}
	return ""
}

// podNames returns pods as NAMESPACE/NAME.
func podNames(pods []tables.PodName) []string {
	return elements.Map(pods, func(p tables.PodName) string { return p.Namespace + "/" + p.Name })
}

// selectorText states what the selectors of a request must imply.
func selectorText(r *tables.Restrictions) string {
	var parts []string
	if len(r.Labels) > 0 {
		parts = append(parts, "label selector implies "+strings.Join(tables.EntryTexts(r.Labels), ","))
	}
	if len(r.Select) > 0 {
		parts = append(parts, "field selector implies "+strings.Join(tables.EntryTexts(r.Select), ","))
	}
	return strings.Join(parts, " and ")
}

// longestExpression is how much of an expression a text shows.
const longestExpression = 80

// restrictionText states attributeRestrictions in words.
func restrictionText(r *tables.Restrictions, most int) string {
	parts := elements.Map(tables.EntryTexts(r.Labels), func(label string) string { return "label " + label })
	for _, field := range tables.EntryTexts(r.Select) {
		parts = append(parts, "field "+field)
	}
	if len(r.Fields) > 0 {
		parts = append(parts, "fields "+joinTo(r.Fields, most))
	}
	switch {
	case r.SameMinion:
		parts = append(parts, "on the same node")
	case r.Expression != "":
		text := strings.Join(strings.Fields(r.Expression), " ")
		if runes := []rune(text); most != All && len(runes) > longestExpression {
			text = string(runes[:longestExpression]) + "…"
		}
		parts = append(parts, "where "+text)
	case r.Extension != "":
		parts = append(parts, "extension "+r.Extension)
	}
	return strings.Join(parts, " and ")
}

// Longest is how many entries of a list a text shows.
const Longest = 5

// All stands for every entry of a list where Longest would limit it.
const All = 0

// Shorten returns a list of at most Longest entries and, if it was longer, how many more.
func Shorten(list []string) []string { return ShortenTo(list, Longest) }

// ShortenTo returns a list of at most so many entries and, if it was longer, how many more.
func ShortenTo(list []string, most int) []string {
	if most == All || len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}

// joinTo joins at most so many entries of a list.
func joinTo(list []string, most int) string { return strings.Join(ShortenTo(list, most), ", ") }

// Title names the document of a statement.
func (s *Statement) Title() string {
	d := s.Documents[0]
	if d.Kind == "DenyPolicy" && s.Step == 2 {
		return fmt.Sprintf("DenyPolicy %s (pod security)", d.Name)
	}
	return fmt.Sprintf("%s rule %d", DocumentName(d), d.Rule)
}

// DocumentName returns the kind, the namespace and the name of a document.
func DocumentName(d Document) string {
	return tables.Title(d.Kind, d.Namespace, d.Name)
}

// Because names the first binding of a statement that grants it to one of some subjects,
// with its line, and its role's rule with that of the rule.
func (s *JSON) Because(subjects []string) string {
	documents := slices.DeleteFunc(slices.Clone(s.Documents), func(d Document) bool { return !d.isFor(subjects) })
	d := documents[0]
	if s.IsDebug() {
		return fmt.Sprintf("%s (%s)", DocumentName(d), d.Source)
	}
	role := ""
	if _, name, ok := strings.Cut(d.Role, "/"); ok {
		role = name + " "
	}
	binding := ""
	if d.Binding.Source != "" {
		binding = d.Binding.Source + ", "
	}
	text := fmt.Sprintf("%s (%s%srule %d, %s)", DocumentName(d), binding, role, d.Rule, d.Source)
	if more := len(documents) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// IsFor reports whether a document of the statement is for one of some subjects.
func (s *JSON) IsFor(subjects []string) bool {
	return slices.ContainsFunc(s.Documents, func(d Document) bool { return d.isFor(subjects) })
}

func (d *Document) isFor(subjects []string) bool {
	return slices.ContainsFunc(d.Subjects, func(p string) bool { return slices.Contains(subjects, p) })
}

// Granted names the first document of a statement that is for one of some subjects, with its
// line.
func (s *JSON) Granted(subjects []string) string {
	i := slices.IndexFunc(s.Documents, func(d Document) bool { return d.isFor(subjects) })
	return DocumentName(s.Documents[i]) + ", " + s.Documents[i].Place()
}

// Denial names a deny policy and where it applies.
func (s *JSON) Denial() string {
	d := s.Documents[0]
	what := fmt.Sprintf("%s rule %d", DocumentName(d), d.Rule)
	if s.Step == 2 {
		what = DocumentName(d) + " pod security"
	}
	return fmt.Sprintf("%s (%s, %s)", s.where(), what, d.Source)
}

// IsGrant reports whether a statement is a rule of a binding, which holds in its namespace.
func (s *JSON) IsGrant() bool { return s.Family != familyDeny && s.Family != familyVisibility }

// IsDebug reports whether a DebugSession gives a statement.
func (s *JSON) IsDebug() bool { return s.Family == familyDebug }

// where states the scope of a deny policy's statement.
func (s *JSON) where() string {
	place := s.Place(Longest)
	if s.Step == 2 {
		place = strings.TrimPrefix(place+", the pod's score is too high", ", ")
	}
	return cmp.Or(place, "everywhere")
}

// Place states the namespaces, names and clusters of a statement, empty for all. Lists have
// at most so many entries, or All.
func (s *JSON) Place(most int) string {
	var parts []string
	if s.Namespace != "" {
		parts = append(parts, s.Namespace)
	}
	for _, a := range tables.ScopeAttributes {
		if list := s.AppliesTo[a.List]; list != nil {
			parts = append(parts, a.Key+" "+joinTo(list, most))
		}
	}
	if s.Session != "" {
		parts = append(parts, "via session "+s.Session)
	}
	if s.Issuer != nil && *s.Issuer != "" {
		parts = append(parts, "issuer "+*s.Issuer)
	}
	row := s.Row()
	if row.Pods != nil {
		parts = append(parts, "pod "+joinTo(podNames(row.Pods), most))
	}
	switch n := row.Namespaces; {
	case n == nil:
	case n.Patterns != nil && n.SelectorTerms != nil:
		parts = append(parts, "namespace "+joinTo(n.Patterns, most)+" or by label")
	case n.Patterns != nil:
		parts = append(parts, "namespace "+joinTo(n.Patterns, most))
	default:
		parts = append(parts, "namespaces by label")
	}
	if len(row.ResourceNames) > 0 {
		parts = append(parts, "name "+joinTo(row.ResourceNames, most))
	}
	if row.restrictions != nil {
		parts = append(parts, restrictionText(row.restrictions, most))
	}
	return strings.Join(parts, ", ")
}
