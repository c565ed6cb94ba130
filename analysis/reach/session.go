package reach

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// lending is an escalation that can be requested on some cluster.
type lending struct {
	question.EscalationTerms
	groups  []string // that a session lends
	cluster string   // where; empty for any
	alone   bool     // who requests it may approve it there
}

// wish is a node that may request an escalation and may not approve it alone.
type wish struct {
	n *node
	l *lending
}

// lendings returns the escalations that can be requested, on the stated cluster if there is one.
func (g *graph) lendings() (out []lending) {
	list := g.o.World.Whole().Revision.Tables
	t := tables.Of[*tables.Requestable](list)
	if t == nil {
		return nil
	}
	stated, _ := g.o.Stated["cluster"].(string)
	for _, terms := range question.EscalationsOf(list, "", stated, dates.Of(g.o.Now)).Escalations {
		i := slices.IndexFunc(t.Escalations, func(e tables.RequestableEscalation) bool {
			return e.Namespace == terms.Namespace && e.Name == terms.Name
		})
		e := &t.Escalations[i]
		if terms.Ready != nil && !*terms.Ready || len(e.Clusters) == 0 {
			continue
		}
		l := lending{terms, t.Lent(e), "", terms.SelfApproval}
		if stated == "" && !slices.ContainsFunc(e.Clusters, func(g tables.PathGlob) bool { return g.MatchesAll() }) {
			l.cluster = e.Clusters[0].Sample()
		}
		for _, on := range terms.PerCluster {
			if stated == "" && !l.alone && on.SelfApproval {
				l.cluster, l.alone = on.Cluster, true
			}
		}
		out = append(out, l)
	}
	return out
}

// mayRequest reports whether an identity may ask for an escalation.
func (l *lending) mayRequest(i *Identity) bool {
	return slices.ContainsFunc(l.Request.Groups, func(group string) bool { return slices.Contains(i.Groups, group) }) &&
		!slices.Contains(i.Groups, l.groups[0])
}

// mayApprove reports whether an identity may approve an escalation.
func (l *lending) mayApprove(i *Identity) bool {
	if slices.Contains(l.Approve.Users, i.User) && i.User != "" {
		return true
	}
	return (len(l.Domains) == 0 || i.User == "" || question.InDomains(i.User, l.Domains)) &&
		slices.ContainsFunc(l.Approve.Groups, func(group string) bool { return slices.Contains(i.Groups, group) })
}

// sessions adds the hops that ask for an escalation and approve it alone. It keeps those that
// another identity must approve.
//
// k8s-breakglass: a session is approved by an approver, who may be the one that requests it
// unless the escalation or its cluster blocks that.
func (x *expansion) sessions() {
	for _, l := range x.lent() {
		switch i := x.n.identity; {
		case i.Acting != nil || !l.mayRequest(i):
		case l.alone && l.mayApprove(i):
			x.add(l.hop(nil, Certain), x.to(l.holder(i), x.n.world))
		default:
			x.g.wishes = append(x.g.wishes, wish{x.n, l})
		}
	}
}

// lent returns the escalations of the world that a node is in.
func (x *expansion) lent() (out []*lending) {
	for k := range x.g.lent {
		l := &x.g.lent[k]
		if !slices.ContainsFunc(x.n.world.changes, func(c change) bool { return c.lends != nil && c.namespace == l.Namespace && c.name == l.Name }) {
			out = append(out, l)
		}
	}
	for _, c := range x.n.world.changes {
		if c.lends != nil {
			out = append(out, c.lends)
		}
	}
	return out
}

// escalations adds the hops that write a BreakglassEscalation by which the identity may lend
// itself a group: a new one, or one that is there. What a binding grants in its namespace alone
// does not lead to the cluster.
func (x *expansion) escalations() {
	if x.n.identity.Acting != nil || !x.mayWrite(denyGroup, "breakglassescalations") {
		return
	}
	isInCluster := func(verb string) bool {
		return x.verdict(target{verb: verb, group: denyGroup, resource: "breakglassescalations", namespace: standIn}, true, nil).class != never
	}
	if !slices.ContainsFunc(writes, isInCluster) {
		return
	}
	isCertain := false // one namespace is as good as another
	for _, namespace := range x.g.namespaces {
		if isCertain {
			break
		}
		names := []string{newName}
		for k := range x.g.lent {
			if l := &x.g.lent[k]; l.Namespace == namespace {
				names = append(names, l.Name)
			}
		}
		for _, name := range names {
			h := hop{edge: "edit-documents"}
			t := target{verb: "create", group: denyGroup, resource: "breakglassescalations", namespace: namespace}
			if name == newName && !x.takes(&h, t) {
				continue
			}
			if t.name = name; name != newName && !slices.ContainsFunc(edits, func(verb string) bool {
				t.verb = verb
				return x.takes(&h, t)
			}) {
				continue
			}
			isCertain = h.class == Certain
			for _, group := range x.g.groups {
				if group != masters && !slices.Contains(x.n.identity.Groups, group) && x.isWorth(statement.GroupPrefix+group) {
					x.change(h, newEscalation(namespace, name, group, x.n.identity.Groups[0]))
				}
			}
			break
		}
	}
}

// isWorth reports whether a group is a goal, or holds something.
func (x *expansion) isWorth(group string) bool {
	return slices.ContainsFunc(x.g.goals, func(g goal) bool { return g.principal == group }) || len(x.n.world.Of(group, "")) > 0 ||
		slices.ContainsFunc(x.lent(), func(l *lending) bool {
			return slices.Contains(slices.Concat(l.Request.Groups, l.Approve.Groups), strings.TrimPrefix(group, statement.GroupPrefix))
		})
}

// newEscalation returns a change that lets a group lend itself another one on every cluster.
func newEscalation(namespace, name, group, own string) change {
	l := &lending{groups: []string{group}, alone: true}
	l.Namespace, l.Name = namespace, name
	l.Request.Groups, l.Approve.Groups = []string{own}, []string{own}
	return change{apiVersion: denyVersion, kind: kindEscalation, namespace: namespace, name: name, lends: l, document: map[string]any{"spec": map[string]any{
		"escalatedGroup": group, "allowed": map[string]any{"clusters": everything, "groups": []string{own}},
		"approvers": map[string]any{"groups": []string{own}}, "blockSelfApproval": false,
	}}}
}

// holder returns who an identity is with a session.
func (l *lending) holder(i *Identity) *Identity {
	out := *i
	out.Groups = tables.Entries(slices.Concat(i.Groups, l.groups))
	out.Escalation = l.Name
	return &out
}

// hop returns the hop of a session that another identity approves, nil for the same one.
func (l *lending) hop(approver *Identity, class Class) hop {
	name := statement.DocumentName(statement.Document{Kind: kindEscalation, Namespace: l.Namespace, Name: l.Name})
	h := hop{edge: "session", class: class, lent: l, asks: "request " + name + ", approve it"}
	if approver != nil {
		h.asks = fmt.Sprintf("request %s, approved by %s", name, approver.text())
		h.assumes = []string{approver.text() + " approves it, whom the subject can become"}
		h.class = max(class, Assumed)
	}
	if l.cluster != "" {
		h.class, h.why, h.facts = Possible, []string{"cluster"}, map[string]any{"cluster": l.cluster}
	}
	return h
}

// grant adds the hops of the sessions that an identity approves which the requester reaches.
// It reports whether there is one.
func (g *graph) grant() bool {
	found := false
	g.wishes = slices.DeleteFunc(g.wishes, func(w wish) bool {
		approver, class := g.approver(w)
		if approver != nil {
			found = true
			h := w.l.hop(approver, class)
			w.n.arcs = append(w.n.arcs, arc{&h, g.at(w.l.holder(w.n.identity), w.n.world)})
		}
		return approver != nil
	})
	return found
}

// approver returns an identity that a requester reaches and that may approve: the one of the
// best class.
func (g *graph) approver(w wish) (*Identity, Class) {
	for class := range never {
		seen := map[*node]bool{w.n: true}
		for queue := []*node{w.n}; len(queue) > 0; queue = queue[1:] {
			if i := queue[0].identity; i != nil && queue[0] != w.n && !i.sink && i.Acting == nil && w.l.mayApprove(i) {
				return i, class
			}
			for a := range queue[0].leads() {
				if !seen[a.to] && a.class() <= class {
					seen[a.to] = true
					queue = append(queue, a.to)
				}
			}
		}
	}
	return nil, never
}
