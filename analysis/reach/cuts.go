package reach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

// Cut is a grant without which some pairs have no path, together with the cuts before it.
type Cut struct {
	Grant
	// Paths is how many pairs have no path any more. Zero: another cut is needed as well.
	Paths int `json:"paths"`
}

// maxCuts is how many cuts are looked for: each takes a search.
const maxCuts = 5

// pair is who reaches what.
type pair struct{ from, to string }

func pairOf(p *Path) pair { return pair{p.Subject, p.To} }

// cut looks for the grants that stand on every path of the most pairs. Each is confirmed by
// another search without it, of the pairs that are left.
func (g *graph) cut(ctx context.Context, report *Report) error {
	left := report
	cutter := cutter{o: *g.o, before: g}
	for len(report.Cuts) < maxCuts {
		best := mostCommon(left.Paths)
		if best == nil {
			break
		}
		cutter.remove(best)
		next, err := cutter.find(ctx, left.Paths)
		if errors.Is(err, ErrTooManyIdentities) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			break // what is left does not compile
		}
		best.Source = best.line()
		report.Cuts = append(report.Cuts, Cut{*best, countPairs(left.Paths) - countPairs(next.Paths)})
		left = next
	}
	for i := len(report.Cuts) - 1; i >= 0 && report.Cuts[i].Paths == 0; i-- {
		report.Cuts = report.Cuts[:i] // what they take part in was not found
	}
	return nil
}

// countPairs counts the pairs of paths that have hops.
func countPairs(paths []Path) int {
	pairs := make(map[pair]bool)
	for i := range paths {
		if len(paths[i].Hops) > 0 {
			pairs[pairOf(&paths[i])] = true
		}
	}
	return len(pairs)
}

// mostCommon returns the grant that stands on every path of the most pairs, the first one by
// its line if there are several; nil without any.
func mostCommon(paths []Path) *Grant {
	type place struct {
		Grant
		pairs int
	}
	places := make(map[string]*place)
	common := make(map[pair]map[string]*Grant)
	var pairs []pair
	for i := range paths {
		p := &paths[i]
		if len(p.Hops) == 0 {
			continue
		}
		own := make(map[string]*Grant)
		for h := range p.Hops {
			for j := range p.Hops[h].Grants {
				if grant := &p.Hops[h].Grants[j]; grant.line() != "" {
					own[grant.id()] = grant
				}
			}
		}
		if before, ok := common[pairOf(p)]; ok {
			maps.DeleteFunc(before, func(id string, _ *Grant) bool { return own[id] == nil })
		} else {
			pairs = append(pairs, pairOf(p))
			common[pairOf(p)] = own
		}
	}
	for _, of := range pairs { // of grants that are cut at one place, the first is named
		for id, grant := range common[of] {
			if places[id] == nil {
				places[id] = &place{Grant: *grant}
			}
			places[id].pairs++
		}
	}
	var best *place
	for _, id := range slices.Sorted(maps.Keys(places)) {
		if best == nil || places[id].pairs > best.pairs {
			best = places[id]
		}
	}
	if best == nil {
		return nil
	}
	return &best.Grant
}

// id identifies what is cut: lines may have several rules.
func (g *Grant) id() string {
	if g.line() == g.binding {
		return fmt.Sprintf("%s\x00%s %s/%s", g.line(), g.Kind, g.Namespace, g.Name)
	}
	return fmt.Sprintf("%s\x00%s %d", g.line(), g.key, g.Rule)
}

// line is where a grant is cut: the rule, or the binding where documents do not have the rule
// for themselves. It is empty for what an earlier hop writes.
func (g *Grant) line() string {
	line := g.Source
	if roles.IsBootstrap(g.Source) || g.family != tables.FamilyKubernetes {
		line = g.binding
	}
	if line == madeByHop || g.Source == madeByHop || roles.IsBootstrap(line) {
		return ""
	}
	return line
}

// cutter searches a revision without some grants.
type cutter struct {
	o             Options
	before        *graph // with the grants
	adds, removes []map[string]any
}

// remove takes a grant out of the documents.
func (c *cutter) remove(grant *Grant) {
	w := c.o.World
	list := slices.Clone(w.Revision.Tables)
	for i, table := range list {
		access, ok := table.(*tables.Access)
		if !ok {
			continue
		}
		if grant.line() == grant.binding {
			b := access.Bindings.At(tables.BindingKey(grant.family, grant.Namespace, grant.Name))
			gone := change{apiVersion: b.APIVersion, kind: b.Kind, namespace: b.Namespace, name: b.Name}
			c.removes = append(c.removes, gone.written())
			list[i] = without(access, grant.family, grant.Namespace, grant.Name)
			continue
		}
		left := *access
		left.Roles = access.Roles.With(c.withoutRule(access, grant))
		list[i] = &left
	}
	c.o.World = statement.NewWorld(tables.Revision{Tables: list, Modules: w.Revision.Modules})
}

// withoutRule returns the roles that have a rule, without it: its own and those that
// aggregate it.
func (c *cutter) withoutRule(access *tables.Access, grant *Grant) map[string]*tables.Role {
	own := access.Roles.At(grant.key)
	isOf := func(k *tables.KubernetesRule) bool { return k.Source == grant.Source && k.Rule == grant.Rule }
	at := slices.IndexFunc(own.Kubernetes, func(k tables.KubernetesRule) bool { return isOf(&k) })
	if at < 0 {
		return nil
	}
	same := func(k tables.KubernetesRule) bool {
		k.Rule = grant.Rule
		return reflect.DeepEqual(k, own.Kubernetes[at])
	}
	changed := make(map[string]*tables.Role)
	for key, r := range access.Roles.All() {
		if key != grant.key && r.Source == own.Source || !slices.ContainsFunc(r.Kubernetes, same) {
			continue // another role of the same line
		}
		role := *r
		role.Kubernetes = slices.DeleteFunc(slices.Clone(r.Kubernetes), same)
		changed[key] = &role
		written := change{apiVersion: rbacVersion, kind: role.Kind, namespace: role.Namespace, name: role.Name, document: map[string]any{"rules": rulesOf(&role)}}
		c.adds = slices.DeleteFunc(c.adds, func(d map[string]any) bool {
			return d["kind"] == role.Kind && statement.JSONText(d["metadata"]) == statement.JSONText(written.metadata())
		})
		c.adds = append(c.adds, written.written())
	}
	return changed
}

// rulesOf returns the rules of a role of Kubernetes as documents write them.
func rulesOf(role *tables.Role) []any {
	out := []any{}
	for i := range role.Kubernetes {
		k := &role.Kubernetes[i]
		rule := map[string]any{"verbs": k.Verbs}
		for key, list := range map[string][]string{"apiGroups": k.Groups, "resources": k.Resources, "resourceNames": k.Names, "nonResourceURLs": k.Paths} {
			if len(list) > 0 {
				rule[key] = list
			}
		}
		out = append(out, rule)
	}
	return out
}

// find searches the pairs of some paths.
func (c *cutter) find(ctx context.Context, paths []Path) (*Report, error) {
	o := c.o
	o.From, o.To, o.Except, o.Cuts, o.unchecked, o.before = nil, nil, nil, false, true, c.before
	wanted := make(map[pair]bool)
	for i := range paths {
		if len(paths[i].Hops) > 0 {
			wanted[pairOf(&paths[i])] = true
			o.From, o.To = append(o.From, paths[i].Subject), append(o.To, paths[i].To)
		}
	}
	o.From, o.To = tables.Once(o.From), tables.Once(o.To)
	adds, removes := slices.Clip(c.adds), slices.Clip(c.removes)
	if c.o.Rebuild != nil {
		o.Rebuild = func(ctx context.Context, more, gone []map[string]any) (statement.Judge, error) {
			return c.o.Rebuild(ctx, append(adds, more...), append(removes, gone...))
		}
	}
	o.Judge = nil
	report, err := Find(ctx, o)
	if err != nil {
		return nil, err
	}
	report.Paths = slices.DeleteFunc(report.Paths, func(p Path) bool { return !wanted[pairOf(&p)] })
	return report, nil
}
