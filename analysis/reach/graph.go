package reach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// ErrTooManyIdentities is the error of a search that would end early.
var ErrTooManyIdentities = errors.New("too many identities can be reached: --max-identities allows more")

// graph has what can be reached from some identities.
type graph struct {
	o      *Options
	goals  []goal
	nodes  map[string]*node
	order  []*node // as they were found
	worlds map[string]*world

	accounts   []string        // known ones, as NAMESPACE:NAME, sorted
	unlisted   map[string]bool // of accounts and nodes, those that are not subjects to begin with
	users      []string        // known ones that are neither accounts nor nodes, sorted
	nodeUsers  []string        // known ones that are nodes, sorted
	groups     []string        // known ones, sorted
	namespaces []string        // known ones, sorted
	sessions   []string
	escalated  []string // escalations
	lent       []lending
	hasChanges bool // a hop changes a document
	wishes     []wish
	omitted    map[string]bool // what bounds leave out; nil for nothing
	before     *earlier        // nil if no arcs are taken from another search
}

// node is an identity in a world, or a set of identities that have their own nodes.
type node struct {
	identity *Identity // nil for a set
	world    *world
	key      string
	isPlain  bool // the arcs are known, and depend on what it holds alone
	arcs     []arc
	back     []arc // from the nodes that lead here
	number   int
	expanded bool
	isIdle   bool            // it makes no changes
	sorted   bool            // the arcs are in order
	hasHops  bool            // it is a set of hops, not of identities
	admin    map[string]bool // the namespaces where it may be an administrator; nil before it is asked
	isAdmin  map[string]bool // the namespaces where it is one or not, as far as it is asked
}

// arc leads to a node. It has no hop if the node is one of a set.
type arc struct {
	hop *hop
	to  *node
}

func (a arc) class() Class {
	if a.hop == nil {
		return Certain
	}
	return a.hop.class
}

// hop is an edge as one identity takes it.
type hop struct {
	edge     string
	class    Class
	requests []target
	assumes  []string
	why      []string
	facts    map[string]any
	change   *change
	asks     string   // what a session takes instead of requests
	lent     *lending // of a session
	standIn  string   // the name in requests that stands for any
	order    string   // among those of a node; empty before it is asked
}

func newGraph(o *Options) *graph {
	g := &graph{o: o, nodes: make(map[string]*node), worlds: make(map[string]*world), unlisted: make(map[string]bool)}
	o.standIn = standInFor(o.World)
	base := newWorld(o.World, o, newMemory(), nil)
	base.engine = o.Judge
	g.worlds[""] = base
	g.know()
	g.lent = g.lendings()
	g.reuse(o.before)
	return g
}

// at returns the node of an identity in a world.
func (g *graph) at(i *Identity, w *world) *node {
	return g.node(w.key+"\x00"+i.key(), i, w)
}

// to returns the node of an identity that the one of an expansion becomes. It is an idle one
// if that one could have made all its changes before.
func (x *expansion) to(i *Identity, w *world) *node {
	if !x.isIdle || i.sink || i.Session != "" || i.Escalation != "" {
		return x.g.at(i, w)
	}
	n := x.g.node(w.key+"\x00idle\x00"+i.key(), i, w)
	n.isIdle = true
	return n
}

func (g *graph) node(key string, i *Identity, w *world) *node {
	n := g.nodes[key]
	if n == nil {
		n = &node{identity: i, world: w, key: key, number: len(g.order)}
		g.nodes[key] = n
		g.order = append(g.order, n)
	}
	return n
}

// set returns the node of a set of identities in a world, which are listed once.
func (x *expansion) set(name string, w *world, members func() []*node) *node {
	n := x.g.node(fmt.Sprintf("%s\x00set %v %s", w.key, x.isIdle, name), nil, w)
	if !n.expanded {
		n.expanded = true
		for _, m := range members() {
			n.arcs = append(n.arcs, arc{to: m})
		}
	}
	return n
}

// accountsOf returns the set of the accounts of a namespace, of all for an empty one.
func (x *expansion) accountsOf(namespace string, w *world) *node {
	return x.set("accounts "+namespace, w, func() (out []*node) {
		for _, account := range x.g.accounts {
			at, name, _ := strings.Cut(account, ":")
			if namespace == "" || at == namespace {
				out = append(out, x.to(identityOf(accountUser(at, name)), w))
			}
		}
		return out
	})
}

// hasMore adds the hops of sessions that others approve, once all nodes are expanded. It
// reports whether they lead to new nodes.
func (g *graph) hasMore() bool {
	known := len(g.order)
	for len(g.order) == known && g.grant() {
	}
	return len(g.order) > known
}

// expansion is the search for the hops of one node.
type expansion struct {
	g    *graph
	ctx  context.Context
	n    *node
	held []*statement.Statement
	err  error

	// holding identifies what is held, if isLike is set.
	holding int
	isLike  bool

	// namespaces are those whose hops are looked for, and accounts those in them. isLocal states
	// that this is one namespace, where the identity made a binding for itself: that grants
	// nothing elsewhere, and the other hops are those of the node without it.
	namespaces, accounts []string
	isLocal              bool

	// isIdle states that who the identity becomes makes no changes: it may do everything, and
	// makes them itself, in as many hops.
	isIdle bool
}

func (g *graph) expand(ctx context.Context, n *node) error {
	x := &expansion{g: g, ctx: ctx, n: n, held: n.world.held(n.identity), namespaces: g.namespaces, accounts: g.accounts}
	x.holding, x.isLike = n.world.holding(n.identity, x.held)
	if place := n.ownPlace(); place != "" {
		x.isLocal, x.namespaces = true, []string{place}
		x.accounts = slices.DeleteFunc(slices.Clone(g.accounts), func(account string) bool { return !strings.HasPrefix(account, place+":") })
		n.arcs = append(n.arcs, arc{to: g.at(n.identity, g.seenBy(nil, n.world))})
	}
	x.isIdle = n.isIdle || !x.isLocal && n.identity.Session == "" && n.identity.Escalation == "" && x.isFree() && x.hasAll("")
	for i := range edges {
		x.take(&edges[i])
	}
	x.tokens()
	if n.identity.Acting == nil {
		x.impersonations()
	}
	x.sessions()
	if !n.isIdle && !x.isAtNext() {
		x.rbac()
		if !g.o.GitOnly {
			x.documents()
		}
	}
	n.isPlain = x.isPlain()
	return x.err
}

// isAtNext reports whether a node is at each goal, or becomes the subject of the goal by one
// hop that is certain. A change of documents leads to another subject by no fewer hops.
func (x *expansion) isAtNext() bool {
	if x.g.o.Paths > 1 {
		return false
	}
	if !slices.ContainsFunc(x.g.goals, func(g goal) bool { return g.principal != "" }) {
		return !slices.ContainsFunc(x.g.goals, func(g goal) bool { return !g.reached(x.n) })
	}
	next := make(map[string]bool)
	for a := range x.n.leads() {
		if a.class() != Certain {
			continue
		}
		for _, n := range append(a.to.members(), a.to) {
			if n.identity != nil && !n.identity.sink {
				for _, p := range n.identity.Principals() {
					next[p] = true
				}
			}
		}
	}
	return !slices.ContainsFunc(x.g.goals, func(g goal) bool { return !next[g.principal] && !g.reached(x.n) })
}

// members returns the nodes of a set, none for an identity.
func (n *node) members() (out []*node) {
	if n.identity == nil {
		for _, a := range n.arcs {
			out = append(out, a.to)
		}
	}
	return out
}

// leads returns the arcs of a node, with those of sets of hops in their place.
func (n *node) leads() iter.Seq[arc] {
	return func(yield func(arc) bool) {
		for _, a := range n.arcs {
			if !a.to.hasHops {
				if !yield(a) {
					return
				}
				continue
			}
			for _, b := range a.to.arcs {
				if !yield(b) {
					return
				}
			}
		}
	}
}

func (x *expansion) add(h hop, to *node) {
	if h.standIn = x.g.o.standIn; to != nil {
		x.n.arcs = append(x.n.arcs, arc{&h, to})
	}
}

// verdict returns how a target is allowed, with facts that earlier requests of the hop take.
func (x *expansion) verdict(t target, anyName bool, facts map[string]any) verdict {
	if x.err != nil {
		return verdict{class: never}
	}
	w := x.n.world
	asked := asked{x.holding, t, anyName, ""}
	if len(facts) > 0 {
		asked.stated = statement.JSONText(facts)
	}
	if v, known := w.answers[asked]; known && x.isLike {
		return v
	}
	v, err := w.allowed(x.ctx, x.n.identity, x.held, t, anyName, facts)
	if x.err = err; err != nil {
		return verdict{class: never}
	}
	if x.isLike {
		w.keep(asked, v)
	}
	return v
}

// places returns the namespaces in which a target may be allowed.
func (x *expansion) places(t target) []string {
	if x.n.world.sealed {
		return x.namespaces
	}
	places := make(map[string]bool)
	shape := x.n.world.shape(t)
	for _, s := range x.held {
		switch {
		case s.Effect != statement.OutcomeAllow || !shape.mayFit(s):
		case s.Namespace == "":
			return x.namespaces
		case !x.isLocal || s.Namespace == x.namespaces[0]:
			places[s.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(places))
}

// takes collects the requests of one hop.
func (x *expansion) takes(h *hop, t target) bool {
	v := x.verdict(t, false, h.facts)
	if v.class == never {
		return false
	}
	t.name = v.name
	h.requests = append(h.requests, t)
	h.class = max(h.class, v.class)
	h.why = tables.Once(slices.Concat(h.why, v.why))
	h.facts = merged(h.facts, v.facts)
	return true
}
