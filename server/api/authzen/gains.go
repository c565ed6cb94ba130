package authzen

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Gain is what a change of an inventory permits a caller.
type Gain struct {
	// IsSubject, Type and ID are of the entity that changed: a subject or a resource.
	IsSubject bool
	Type, ID  string
	// Group is the one that the inventory adds to the caller, if that is the gain.
	Group string
	// Request shows the gain; nil if it is a group.
	Request *decision.Request
}

// Gains returns what evaluations permit a user, or some groups, because the inventory of
// after has other properties than that of before: a request that after decides, completed
// from the inventory of before, as before does, and otherwise when it is completed from its
// own. It returns one gain for each entity.
func Gains(ctx context.Context, before, after decision.Policies, user string, groups []string) []Gain {
	c := &comparison{ctx: ctx, before: before, after: after}
	subjects := subjectsOf(user, groups)
	was, is := before.Tables().Inventory(), after.Tables().Inventory()
	isSame := func(e entity) bool { return !differs(was.Resources, is.Resources, e) }
	changed := slices.DeleteFunc(union(was.Resources, is.Resources), isSame)
	out := c.groups(was.Subjects.At("user").At(user), is.Subjects.At("user").At(user), user)
	same := slices.DeleteFunc(union(was.Resources, is.Resources), func(e entity) bool { return slices.Contains(changed, e) })
	for _, s := range subjects {
		if !differs(was.Subjects, is.Subjects, s) {
			continue
		}
		if q := c.find(same, s); q != nil {
			out = append(out, Gain{IsSubject: true, Type: s.kind, ID: s.id, Request: q})
			break
		}
	}
	for i, r := range changed {
		if q := c.find(changed[i:i+1], subjects...); q != nil {
			out = append(out, Gain{Type: r.kind, ID: r.id, Request: q})
		}
	}
	return out
}

// subjectsOf returns the subjects that a caller may be: with its groups, or without, which
// the inventory adds then.
func subjectsOf(user string, groups []string) []entity {
	var out []entity
	if user != "" {
		out = append(out, entity{kind: "user", id: user, properties: groupsProperty(groups)}, entity{kind: "user", id: user})
	}
	for _, group := range groups {
		out = append(out, entity{kind: "group", id: group})
	}
	return out
}

// groupsProperty returns the properties of a subject of which only the groups are known.
func groupsProperty(groups []string) decision.Value {
	return jsontext.ValueOf(string(append(decision.AppendStrings([]byte(`{"groups":`), groups), '}')))
}

// union returns the entities of two inventories.
func union(a, b tables.Entities) []entity {
	seen := make(map[[2]string]bool)
	for _, list := range []tables.Entities{a, b} {
		for kind, byID := range list.All() {
			for id := range byID.All() {
				seen[[2]string{kind, id}] = true
			}
		}
	}
	var out []entity
	for _, key := range slices.SortedFunc(maps.Keys(seen), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, entity{kind: key[0], id: key[1]})
	}
	return out
}

func differs(a, b tables.Entities, e entity) bool {
	return string(a.At(e.kind).At(e.id).Properties) != string(b.At(e.kind).At(e.id).Properties)
}

// comparison asks two revisions.
type comparison struct {
	ctx           context.Context
	before, after decision.Policies
}

// find returns a request about one of some resources, by one of some subjects, that is
// permitted because of the inventory.
func (c *comparison) find(resources []entity, subjects ...entity) *decision.Request {
	verbs := tables.Entries(slices.Concat(c.before.Tables().Verbs, c.after.Tables().Verbs))
	for _, resource := range resources {
		for _, subject := range subjects {
			for _, verb := range verbs {
				if q := c.gained(subject, entity{id: verb}, resource); q != nil {
					return q
				}
			}
		}
	}
	return nil
}

// gained returns the request of entities if it is permitted because of the inventory.
func (c *comparison) gained(subject, action, resource entity) *decision.Request {
	q, refused := canonical(subject, action, resource, decision.Value{}, c.after.Tables().Inventory())
	if refused != nil {
		return nil
	}
	now := c.after.Access(c.ctx, q)
	permits := func(q *decision.Request, p decision.Policies) bool {
		d := p.Access(c.ctx, q)
		return now.Allowed && !d.Allowed || d.Denied && !now.Denied
	}
	earlier, refused := canonical(subject, action, resource, decision.Value{}, c.before.Tables().Inventory())
	if refused != nil && now.Allowed || refused == nil && permits(earlier, c.after) && permits(earlier, c.before) {
		return q
	}
	return nil
}

// groups returns the groups that the inventory adds to a user and that documents name.
func (c *comparison) groups(was, is tables.Entity, user string) []Gain {
	world := statement.Of(c.after)
	if user == "" || world == nil {
		return nil
	}
	groupsOf := func(e tables.Entity) []string {
		q, refused := canonical(entity{kind: "user", id: user, properties: jsontext.ValueOf(string(e.Properties))}, entity{id: "*"}, entity{kind: "*"}, decision.Value{}, c.before.Tables().Inventory())
		if refused != nil {
			return nil
		}
		return q.Groups
	}
	var out []Gain
	before := groupsOf(was)
	for _, group := range groupsOf(is) {
		if !slices.Contains(before, group) && len(world.Of(statement.GroupPrefix+group, "")) > 0 {
			out = append(out, Gain{IsSubject: true, Type: "user", ID: user, Group: group})
		}
	}
	return out
}
