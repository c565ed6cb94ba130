package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/tables"
)

// title is what a group is about: who may or may no longer do what, and where.
type title struct {
	who    []string
	what   []string // none at the point gateway
	where  string   // "in shop", if it is the same for all of what
	all    []string // what without a list that is cut, each with its place
	change string

	brief  []string // what without its namespaces
	isCut  bool     // a list of brief is
	role   string   // if the change is that of a binding to it
	place  scope
	amount string // how many verbs and resources; empty if they cannot be counted
	powers []risk.Power
}

// pathPrefix begins the subject of a class of the point gateway.
const pathPrefix = "requests to "

// everybody is the subject of a deny policy.
const everybody = "everybody"

func (t *title) subjects() string { return strings.Join(statement.Shorten(t.who), ", ") }

func (t *title) String() string {
	if len(t.what) == 0 {
		return t.subjects()
	}
	return t.subjects() + ": " + strings.TrimSpace(strings.Join(statement.Shorten(t.what), "; ")+" "+t.where)
}

// danger is the level of the most dangerous power, above 0 if there is one.
func (t *title) danger() int {
	if len(t.powers) == 0 {
		return 0
	}
	return int(t.powers[0].Level) + 1
}

// dangers returns the words for the powers, the most dangerous one first, never nil.
func (t *title) dangers() []string {
	out := []string{}
	for _, p := range t.powers {
		if p.Word != "" {
			out = append(out, p.Word)
		}
	}
	return out
}

// titleOf returns the title of classes for one of their changes. The causes, if they are
// given, are the documents that the classes come from.
func (r *Report) titleOf(classes []*Class, change string, causes []Cause) title {
	out := title{change: change}
	var where []string
	for _, k := range classes {
		out.who = append(out.who, r.who(k, change)...)
		out.powers = append(out.powers, r.powersOf(k)...)
	}
	out.powers = risk.Once(out.powers)
	var rules, changed []*statement.JSON
	places := make(map[string][]string) // by what is done there
	add := func(s *statement.JSON, phrase func(most int) string) {
		out.what, where = append(out.what, phrase(statement.Longest)), append(where, connected(s.Place(statement.Longest)))
		bare := *s
		if s.IsGrant() {
			bare.Namespace = ""
		}
		brief, all := phrase(statement.Longest)+" "+connected(bare.Place(statement.Longest)), phrase(statement.All)+" "+connected(bare.Place(statement.All))
		out.brief, out.isCut = append(out.brief, strings.TrimSpace(brief)), out.isCut || brief != all
		places[strings.TrimSpace(all)] = append(places[strings.TrimSpace(all)], strings.TrimSuffix(s.Namespace, bare.Namespace))
	}
	for _, k := range joinTypes(classes) {
		for _, s := range r.changedBy(k, change) {
			if changed = append(changed, s); k.Point == statement.PointAccess {
				rules = append(rules, s)
			} else {
				add(s, func(most int) string { return k.phrase(s, change, most) })
			}
		}
	}
	rules = joinRules(rules)
	for _, s := range rules {
		add(s, s.Phrase)
	}
	for _, what := range slices.Sorted(maps.Keys(places)) {
		if in := tables.Entries(places[what]); in[0] != "" {
			what += " in " + strings.Join(in, ", ")
		}
		out.all = append(out.all, what)
	}
	out.who = tables.Entries(out.who)
	out.amount, out.place, out.role = amountOf(rules), scopeOf(changed), r.roleOf(changed, change, causes)
	if len(out.what) == 0 {
		return out
	}
	if len(tables.Entries(where)) == 1 {
		out.where = where[0]
	} else {
		for i := range out.what {
			out.what[i] = strings.TrimSpace(out.what[i] + " " + where[i])
		}
	}
	out.what = tables.Entries(out.what)
	return out
}

// changedBy returns the statements of a class that a change is about: of those of both
// revisions, what is gained is allowed by B or denied by A, and what is lost the reverse.
func (r *Report) changedBy(k *Class, change string) []*statement.JSON {
	if k.Point == statement.PointGateway {
		return nil
	}
	in := map[string]string{changeGain + statement.OutcomeAllow: "b", changeLoss + statement.OutcomeAllow: "a",
		changeGain + statement.OutcomeDeny: "a", changeLoss + statement.OutcomeDeny: "b"}
	var all, own []*statement.JSON
	for _, id := range k.All[0] {
		s := &r.Statements[id]
		if all = append(all, s); slices.Contains(s.In, in[change+s.Effect]) {
			own = append(own, s)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// joinRules joins rules that differ in their resources and API groups alone, so that a title has
// their verbs once.
func joinRules(list []*statement.JSON) []*statement.JSON {
	by := make(map[string]*statement.Row)
	var out []*statement.JSON
	for _, s := range list {
		rule := s.Row()
		if s.Family != tables.FamilyKubernetes || len(rule.Resources) == 0 || slices.Contains(rule.Resources, "*") {
			out = append(out, s)
			continue
		}
		key := statement.JSONText([]any{rule.Verbs, rule.ResourceNames, s.Namespace, s.Session, s.Issuer, s.AppliesTo})
		if into := by[key]; into != nil {
			into.Resources = tables.Entries(slices.Concat(into.Resources, rule.Resources))
			continue
		}
		copied, joined := *s, *rule
		by[key], copied.Rule = &joined, &joined
		out = append(out, &copied)
	}
	return out
}

// joinTypes joins classes that differ in the types of their items alone.
func joinTypes(classes []*Class) []*Class {
	by := make(map[string]*Class)
	var out []*Class
	for _, k := range classes {
		if k.Question == questionItem {
			key := statement.JSONText(k.All)
			if into := by[key]; into != nil {
				into.Types = append(into.Types, k.Types...)
				continue
			}
			copied := *k
			copied.Types = slices.Clone(k.Types)
			k, by[key] = &copied, &copied
		}
		out = append(out, k)
	}
	return out
}

// connected returns a place as the end of a phrase.
func connected(place string) string {
	if place == "" {
		return ""
	}
	switch word, _, _ := strings.Cut(place, " "); word {
	case "name", "label", "fields":
		return "with " + place
	case "extension":
		return "by " + place
	case "on", "where":
		return place
	}
	return "in " + place
}

// who returns the subjects of a class, of its items those that go through a change.
func (r *Report) who(k *Class, change string) []string {
	out := elements.Map(k.Paths, func(path string) string { return pathPrefix + path })
	if k.Question == questionItem {
		out = append(out, k.affected(change)...)
	}
	if len(k.All) > 0 && len(out) == 0 {
		for _, id := range k.All[0] {
			out = append(out, r.Statements[id].Subjects...)
			switch {
			case r.Statements[id].Subjects != nil:
			case change == changeGain && r.Statements[id].Effect == statement.OutcomeDeny:
				return []string{everybody + " with a grant"}
			case change == changeRelax || change == changeTighten:
				return []string{everybody + " without a grant"}
			default:
				return []string{everybody}
			}
		}
	}
	for i := range out {
		if k.Point != statement.PointGateway {
			out[i] = risk.Subject(out[i])
		}
	}
	return out
}

// affected returns the principals that go through a change alone, as far as they are listed.
func (k *Class) affected(change string) []string {
	var out []string
	for _, t := range k.Transitions {
		if t.Change == change {
			out = append(out, t.Affected.Principals...)
		}
	}
	return tables.Entries(out)
}

// phrase states what a statement of a class of the point visibility is about.
func (k *Class) phrase(s *statement.JSON, change string, most int) string {
	text := k.see(change) + " "
	switch {
	case slices.Equal(k.Actions, []string{actionMetrics}):
		text += "metrics of "
	case k.Question == questionItem && slices.Equal(tables.Entries(k.Types), tables.Entries(statement.StandardTypes[1:])):
		text += "items of every type in "
	case !slices.Equal(k.Types, statement.StandardTypes):
		text += strings.Join(statement.ShortenTo(tables.Entries(k.Types), most), ", ") + " in "
	}
	return text + s.Phrase(most)
}

// see states how much of a cluster a change is about.
func (k *Class) see(change string) string {
	text := ""
	for _, t := range k.Transitions {
		if t.Change != change {
			continue
		}
		how := "see"
		if k.Question == questionAccess && (t.From == statement.OutcomePartial || t.To == statement.OutcomePartial) {
			how = "see a part of"
			if t.From == statement.OutcomeAllow || t.To == statement.OutcomeAllow {
				how = "see all of"
			}
		}
		if text != "" && text != how {
			return "see"
		}
		text = how
	}
	return cmp.Or(text, "see")
}
