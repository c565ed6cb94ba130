package reach

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
)

// Options say what is asked of a revision.
type Options struct {
	World *statement.World
	// Judge decides by the documents as they are.
	Judge statement.Judge
	// Rebuild returns what decides by the documents with some written and some gone.
	Rebuild  func(ctx context.Context, adds, removes []map[string]any) (statement.Judge, error)
	Revision string
	Now      time.Time

	// From are the subjects to begin with, each as principals joined by commas. None stands
	// for every subject that is not at the target.
	From []string
	// To are targets; none stands for the administrators of the cluster and of each namespace.
	To []string
	// Known are further subjects and Members further groups of users, as USER=GROUP.
	Known   []string
	Members []string
	// Stated are facts of requests that have a value.
	Stated map[string]any
	// Namespace, if not empty, leaves out the administrators of others.
	Namespace string
	// Class is the worst class that is reported.
	Class Class
	// System adds the subjects of Kubernetes itself.
	System bool
	// NodeEscape adds the edge of privileged pods, GitOnly leaves out that of documents in
	// the cluster.
	NodeEscape, GitOnly bool

	MaxHops, MaxChanges, MaxIdentities int
}

// start is a subject that paths begin with.
type start struct {
	name string
	*node
}

// Find returns the paths of a revision.
func Find(ctx context.Context, o Options) (*Report, error) {
	isAny := slices.Contains(o.To, anything)
	goals := make([]goal, 0, len(o.To))
	for _, text := range o.To {
		if text == anything {
			continue
		}
		g, err := parseGoal(text, o.World.Access)
		if err != nil {
			return nil, err
		}
		goals = append(goals, g)
		if g.principal != "" {
			o.Known = append(o.Known, g.principal)
		}
	}
	for _, from := range o.From {
		for _, p := range strings.Split(from, ",") {
			if !isPrincipal(p) {
				return nil, fmt.Errorf("subject %q: must be user:NAME or group:NAME, several joined by commas", from)
			}
			o.Known = append(o.Known, p)
		}
	}
	g := newGraph(&o)
	if len(o.To) == 0 {
		goals = append(goals, goal{name: ClusterAdmin})
		for _, namespace := range g.namespaces {
			if o.Namespace == "" || o.Namespace == namespace {
				goals = append(goals, goal{name: namespaceAdmin + namespace, namespace: namespace})
			}
		}
	}
	if isAny {
		for _, p := range g.subjects(true) {
			goals = append(goals, goal{name: p, principal: p})
		}
	}
	starts := g.starts()
	atAll := func(n *node) (bool, error) {
		return !slices.ContainsFunc(goals, func(x goal) bool { return !x.reached(n) }), nil
	}
	if err := g.explore(ctx, atAll); err != nil {
		return nil, err
	}
	return g.report(ctx, starts, goals)
}

// subjects returns the principals that are known, those of the system only if all are wanted.
func (g *graph) subjects(all bool) (out []string) {
	for _, group := range g.groups {
		out = append(out, statement.GroupPrefix+group)
	}
	for _, user := range slices.Concat(g.users, g.nodeUsers) {
		out = append(out, statement.UserPrefix+user)
	}
	out = slices.DeleteFunc(out, func(p string) bool {
		_, name, _ := strings.Cut(p, ":")
		return !all && strings.HasPrefix(name, systemPrefix)
	})
	for _, account := range g.accounts {
		if user := statement.AccountPrefix + account; all || !strings.HasPrefix(user, accountOfSystem) {
			out = append(out, statement.UserPrefix+user)
		}
	}
	return out
}

// starts adds the nodes that paths begin with.
func (g *graph) starts() (out []start) {
	from := g.o.From
	if len(from) == 0 {
		from = g.subjects(g.o.System)
	}
	for _, name := range from {
		principals := strings.Split(name, ",")
		for _, member := range g.o.Members {
			if user, group, ok := strings.Cut(member, "="); ok && slices.Contains(principals, statement.UserPrefix+user) {
				principals = append(principals, statement.GroupPrefix+group)
			}
		}
		out = append(out, start{name, g.at(identityOf(principals...), g.worlds[""])})
	}
	return out
}

// unreached is the distance of a node from which a goal is not reached.
const unreached = 1 << 30

// distances returns, by the number of a node, how many hops of a class or better it takes to
// a goal.
func (g *graph) distances(at []*node, class Class) []int {
	out := make([]int, len(g.order))
	for i := range out {
		out[i] = unreached
	}
	queue := slices.Clone(at)
	for _, n := range at {
		out[n.number] = 0
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, a := range n.back {
			cost := a.cost()
			if a.class() > class || out[n.number]+cost >= out[a.to.number] {
				continue
			}
			if out[a.to.number] = out[n.number] + cost; cost == 0 {
				queue = slices.Insert(queue, 0, a.to)
			} else {
				queue = append(queue, a.to)
			}
		}
	}
	return out
}

func (a arc) cost() int {
	if a.hop == nil {
		return 0
	}
	return 1
}

// route returns the arcs from a node to a goal by the distances of a class.
func route(n *node, distances []int, class Class) (out []arc) {
	for distances[n.number] > 0 || n.identity == nil {
		i := slices.IndexFunc(n.arcs, func(a arc) bool {
			return a.class() <= class && distances[a.to.number] == distances[n.number]-a.cost()
		})
		out = append(out, n.arcs[i])
		n = n.arcs[i].to
	}
	return out
}

// report finds the best path of each pair.
func (g *graph) report(ctx context.Context, starts []start, goals []goal) (*Report, error) {
	out := &Report{Revision: g.o.Revision, Now: g.o.Now.UTC().Format(time.RFC3339), Paths: []Path{}, Excepted: []Path{}, Cuts: []Cut{}, NotCovered: notCovered}
	for i := range goals {
		var at []*node
		for _, n := range g.order {
			if goals[i].reached(n) {
				at = append(at, n)
			}
		}
		if len(at) == 0 {
			continue
		}
		var distances [][]int
		for class := Certain; class <= g.o.Class; class++ {
			distances = append(distances, g.distances(at, class))
		}
		for _, s := range starts {
			class := Class(slices.IndexFunc(distances, func(d []int) bool { return d[s.number] <= g.o.MaxHops }))
			if class < 0 || len(g.o.From) == 0 && distances[class][s.number] == 0 {
				continue
			}
			path, err := g.path(ctx, s, goals[i].name, route(s.node, distances[class], class))
			if err != nil {
				return nil, err
			}
			path.Class = class
			out.Paths = append(out.Paths, *path)
		}
	}
	out.sum()
	return out, nil
}

var notCovered = []string{
	"operators and GitOps controllers that act for others", "identities of clouds", "persistent volumes", "APIServices, services and endpoints",
	"admission and pod security by others than documents", "group membership that only an identity provider knows",
	"identities that only the documents of Kubernetes itself name, unless --system is given",
}
