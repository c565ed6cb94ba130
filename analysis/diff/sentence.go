package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// What a sentence spells out: more is counted.
const (
	fewSubjects   = 3
	fewNamespaces = 3
	fewPhrases    = 2
	fewPowers     = 4
	longestPhrase = 120
)

// sentence states a change: who gets or loses what, where, how much that is and what of it is
// dangerous.
func (t *title) sentence() string {
	who, isPlural := t.whoText()
	verb := map[bool]map[string]string{
		false: {changeGain: "gets", changeLoss: "loses", changeRelax: "is no longer denied", changeTighten: "is now denied"},
		true:  {changeGain: "get", changeLoss: "lose", changeRelax: "are no longer denied", changeTighten: "are now denied"},
	}[isPlural][t.change]
	can := map[string]string{changeGain: "can now", changeLoss: "can no longer"}[t.change]
	switch {
	case verb == "":
		return who + map[bool]string{false: " is", true: " are"}[isPlural] + " denied in another way"
	case t.role != "":
		text := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", who, verb, t.role, &t.place))
		if t.isEverything() {
			return text + inBrackets(risk.Everything)
		}
		what := t.whatText()
		return text + inBrackets(what, t.dangersBeside(what))
	case len(t.what) == 0 && can != "":
		return who + " " + can + " pass"
	case len(t.what) == 0:
		return who + " " + verb
	}
	what := t.whatText()
	unsaid := t.dangersBeside(what)
	switch {
	case can == "":
		what = verb + ": " + what
	case t.isEverything():
		what, unsaid = can+" do "+risk.Everything, ""
		if n := len(t.place.clusters); n > fewNamespaces {
			what += " on " + diag.Counted(n, "cluster")
		} else if n > 0 {
			what += " on cluster " + inWords(t.place.clusters)
		}
	case strings.HasPrefix(what, anyVerb) || what == t.amount:
		what = can + " use " + what
	default:
		what = can + " " + what
	}
	return strings.TrimSpace(who+" "+what+" "+t.place.String()) + inBrackets(unsaid)
}

// isEverything reports whether a change is about every request, without a list of what is not.
func (t *title) isEverything() bool {
	return slices.Contains(t.dangers(), risk.Everything) && !slices.ContainsFunc(t.brief, func(phrase string) bool { return strings.Contains(phrase, " but ") })
}

// anyVerb begins the phrase of a rule without named verbs.
const anyVerb = "any verb"

// whoText names few subjects and counts more.
func (t *title) whoText() (text string, isPlural bool) {
	if len(t.who) <= fewSubjects {
		return inWords(t.who), len(t.who) > 1 || len(t.what) == 0
	}
	for prefix, noun := range map[string]string{"user ": "user", "group ": "group", "service account ": "service account", pathPrefix: "path"} {
		if !slices.ContainsFunc(t.who, func(who string) bool { return !strings.HasPrefix(who, prefix) }) {
			text = diag.Counted(len(t.who), noun)
			if prefix == pathPrefix {
				text = prefix + text
			}
			return text, true
		}
	}
	return diag.Counted(len(t.who), "subject"), true
}

// whatText returns what a title is about, or how much that is.
func (t *title) whatText() string {
	phrases := tables.Entries(t.brief)
	if text := strings.Join(phrases, " and "); len(phrases) <= fewPhrases && len(text) <= longestPhrase && !t.isCut || t.amount == "" && len(phrases) <= fewPhrases {
		return text
	}
	if t.amount != "" {
		return t.amount
	}
	return fmt.Sprintf("%s and %d more", strings.Join(phrases[:fewPhrases], ", "), len(phrases)-fewPhrases)
}

// dangersBeside returns in words the powers that a text does not name.
func (t *title) dangersBeside(text string) string {
	words := slices.DeleteFunc(t.dangers(), func(word string) bool {
		return strings.Contains(text, strings.TrimSuffix(word, "s")) || (word == risk.Wildcards || word == risk.Everything) && strings.Contains(text, anyVerb)
	})
	if len(words) == 0 {
		return ""
	}
	if rest := len(words) - fewPowers; rest > 0 {
		words = append(words[:fewPowers:fewPowers], fmt.Sprintf("%d more", rest))
	}
	return "with " + inWords(words)
}

// inBrackets returns the texts that are not empty, in brackets.
func inBrackets(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// amountOf counts the verbs and resources of rules; it counts rules where some of several have
// a wildcard, and returns "" for rules that have neither.
func amountOf(rules []*statement.JSON) string {
	var verbs, resources, paths []string
	wild := make(map[string]int)
	for _, s := range rules {
		rule := s.Row()
		if len(rule.Verbs) == 0 {
			return ""
		}
		if slices.ContainsFunc(rule.Verbs, isWildcard) {
			wild["verbs"]++
		}
		verbs, paths = append(verbs, rule.Verbs...), append(paths, rule.NonResourceURLs...)
		named := slices.Concat(rule.Resources, rule.ResourceKinds)
		if slices.ContainsFunc(named, isWildcard) {
			wild["resources"]++
		}
		groups := rule.APIGroups
		if len(groups) == 0 {
			groups = []string{""}
		}
		for _, group := range groups {
			for _, name := range named {
				resources = append(resources, name+"."+group)
			}
		}
	}
	if len(rules) == 0 {
		return ""
	}
	verbText := diag.Counted(len(tables.Entries(verbs)), "verb")
	var targets []string
	switch {
	case wild["verbs"] == len(rules):
		verbText = anyVerb
	case wild["verbs"] > 0:
		return diag.Counted(len(rules), "rule")
	}
	switch {
	case wild["resources"] > 0 && len(rules) > 1:
		return diag.Counted(len(rules), "rule")
	case wild["resources"] > 0:
		targets = append(targets, "all resources")
	case len(resources) > 0:
		targets = append(targets, diag.Counted(len(tables.Entries(resources)), "resource"))
	}
	if len(paths) > 0 {
		targets = append(targets, diag.Counted(len(tables.Entries(paths)), "path"))
	}
	return verbText + " on " + strings.Join(targets, " and ")
}

// isWildcard reports whether an entry of a rule stands for more than one value or takes some
// away from it.
func isWildcard(entry string) bool {
	return strings.Contains(entry, "*") || strings.HasPrefix(entry, "-")
}

// scope is the places of statements.
type scope struct {
	isCluster, isEveryNamespace bool
	namespaces                  []string
	// clusters are those on which sessions give rules.
	clusters []string
}

// scopeOf returns where rules of bindings hold. Other statements name their place themselves.
func scopeOf(list []*statement.JSON) scope {
	var out scope
	for _, s := range list {
		rule := s.Row()
		isUnknown := func(name string) bool {
			name, _, _ = strings.Cut(name, "/")
			return !vocabulary.IsNamespaced(name)
		}
		switch {
		case !s.IsGrant():
		case s.AppliesTo != nil: // of a session
			out.clusters = append(out.clusters, s.AppliesTo["clusters"]...)
		case s.Namespace != "":
			out.namespaces = append(out.namespaces, s.Namespace)
		case len(rule.Resources) > 0 && !slices.ContainsFunc(rule.Resources, isUnknown):
			out.isEveryNamespace = true
		case rule.NonResourceURLs == nil:
			out.isCluster = true
		}
	}
	out.namespaces, out.clusters = tables.Entries(out.namespaces), tables.Entries(out.clusters)
	return out
}

// String returns the places as the end of a sentence.
func (s *scope) String() string {
	switch n := len(s.namespaces); {
	case s.isCluster:
		return "in the whole cluster"
	case s.isEveryNamespace:
		return "in all namespaces"
	case n == 0:
		return ""
	case n <= fewNamespaces:
		return "in " + inWords(s.namespaces)
	default:
		return "in " + diag.Counted(n, "namespace")
	}
}

// compare orders titles: the most dangerous one first, grants before losses, then the one that
// holds in more places and for more subjects.
func (t *title) compare(o *title) int {
	size := func(t *title) int {
		switch {
		case t.place.isCluster:
			return 2
		case t.place.isEveryNamespace:
			return 1
		}
		return 0
	}
	return cmp.Or(o.danger()-t.danger(), slices.Index(changeKinds, t.change)-slices.Index(changeKinds, o.change), size(o)-size(t),
		len(o.place.namespaces)-len(t.place.namespaces), len(o.who)-len(t.who), cmp.Compare(t.String(), o.String()))
}

// roleOf returns the name of the role that bindings give or take away: all changed statements
// are of it, the bindings are among the causes and the role is not.
func (r *Report) roleOf(changed []*statement.JSON, change string, causes []Cause) string {
	key, in := "", map[string]string{changeGain: "b", changeLoss: "a"}[change]
	for _, s := range changed {
		if s.Effect != statement.OutcomeAllow || !slices.Equal(s.In, []string{in}) {
			return ""
		}
		for _, d := range s.Documents {
			isCause := slices.ContainsFunc(causes, func(c Cause) bool { return c.isDocument(d.Kind, d.Namespace, d.Name) })
			if d.Role == "" || !isCause || key != "" && d.Role != key {
				return ""
			}
			key = d.Role
		}
	}
	if key == "" {
		return ""
	}
	role := r.roles(in).At(key)
	if slices.ContainsFunc(causes, func(c Cause) bool { return c.isDocument(role.Kind, role.Namespace, role.Name) }) {
		return ""
	}
	return tables.Title(role.Kind, role.Namespace, role.Name)
}

// roles returns those of a revision.
func (r *Report) roles(in string) tables.Map[tables.Role] {
	if in == "a" {
		return r.A.World.Access.Roles
	}
	return r.B.World.Access.Roles
}

// powersOf returns the dangerous powers of a class of the point access, the most dangerous one
// first.
func (r *Report) powersOf(k *Class) []risk.Power {
	found := r.found[k.ID]
	if found == nil || k.Point != statement.PointAccess || len(found.all) == 0 {
		return nil
	}
	if known, ok := r.powers[k.ID]; ok {
		return known
	}
	var must, not []*statement.Statement
	for _, list := range found.all[1:] {
		if len(list) == 1 && list[0].s.Opaque == "" {
			must = append(must, list[0].s)
		}
	}
	for _, m := range found.except {
		if m.s.Opaque == "" {
			not = append(not, m.s)
		}
	}
	var out []risk.Power
	for _, m := range found.all[0] {
		if m.s.Opaque != statement.WhyPod {
			out = append(out, risk.Powers(append([]*statement.Statement{m.s}, must...), not)...)
		}
	}
	if r.powers == nil {
		r.powers = make(map[string][]risk.Power)
	}
	out = risk.Once(out)
	r.powers[k.ID] = out
	return out
}
