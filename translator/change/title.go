package change

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// title is what a group is about: who may or may no longer do what, and where.
type title struct {
	who   []string
	what  string // empty at the point gateway
	where string // "in shop", if it is the same for all of what
}

// everybody is the subject of a deny policy.
const everybody = "everybody"

func (t *title) subjects() string { return strings.Join(statement.Shorten(t.who), ", ") }

func (t *title) action() string { return strings.TrimSpace(t.what + " " + t.where) }

func (t *title) String() string {
	if t.what == "" {
		return t.subjects()
	}
	return t.subjects() + ": " + t.action()
}

// sentence states a change of the title's subjects.
func (t *title) sentence(change string) string {
	be := "is"
	if len(t.who) > 1 || t.what == "" {
		be = "are"
	}
	verb := map[string]string{changeGain: "may", changeRelax: be + " no longer denied", changeLoss: "may no longer", changeTighten: be + " now denied"}[change]
	switch {
	case verb == "":
		return t.subjects() + " " + be + " denied in another way"
	case t.what != "":
		return t.subjects() + " " + verb + ": " + t.action()
	case strings.HasPrefix(verb, "may"):
		return t.subjects() + " " + verb + " pass"
	}
	return t.subjects() + " " + verb
}

// titleOf returns the title of classes for one of their changes.
func (r *Report) titleOf(classes []*Class, change string) title {
	var out title
	var what, where []string
	for _, k := range classes {
		out.who = append(out.who, r.who(k, change)...)
	}
	var rules []*statement.JSON
	for _, k := range joinTypes(classes) {
		for _, s := range r.changedBy(k, change) {
			if k.Point == statement.PointAccess {
				rules = append(rules, s)
			} else {
				what, where = append(what, k.phrase(s, change)), append(where, connected(s.Place()))
			}
		}
	}
	for _, s := range joinRules(rules) {
		what, where = append(what, s.Phrase()), append(where, connected(s.Place()))
	}
	out.who = tables.Entries(out.who)
	if len(what) == 0 {
		return out
	}
	if len(tables.Entries(where)) == 1 {
		out.where = where[0]
	} else {
		for i := range what {
			what[i] = strings.TrimSpace(what[i] + " " + where[i])
		}
	}
	out.what = strings.Join(statement.Shorten(tables.Entries(what)), "; ")
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
	by := make(map[string]map[string]any)
	var out []*statement.JSON
	for _, s := range list {
		rule, _ := s.Rule.(map[string]any)
		resources, _ := rule["resources"].([]string)
		if s.Family != tables.FamilyKubernetes || len(resources) == 0 || slices.Contains(resources, "*") {
			out = append(out, s)
			continue
		}
		key := statement.JSONText([]any{rule["verbs"], rule["resourceNames"], s.Namespace})
		if into := by[key]; into != nil {
			into["resources"] = tables.Entries(append(into["resources"].([]string), resources...))
			continue
		}
		copied := *s
		by[key] = maps.Clone(rule)
		by[key]["resources"] = slices.Clone(resources)
		copied.Rule = by[key]
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
	var out []string
	for _, path := range k.Paths {
		out = append(out, "requests to "+path)
	}
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
		if kind, name, ok := strings.Cut(out[i], ":"); ok && k.Point != statement.PointGateway {
			out[i] = kind + " " + name
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
func (k *Class) phrase(s *statement.JSON, change string) string {
	text := k.see(change) + " "
	switch {
	case slices.Equal(k.Actions, []string{actionMetrics}):
		text += "metrics of "
	case k.Question == questionItem && slices.Equal(tables.Entries(k.Types), tables.Entries(statement.StandardTypes[1:])):
		text += "items of every type in "
	case !slices.Equal(k.Types, statement.StandardTypes):
		text += strings.Join(statement.Shorten(tables.Entries(k.Types)), ", ") + " in "
	}
	return text + s.Phrase()
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
	if text == "" {
		return "see"
	}
	return text
}
