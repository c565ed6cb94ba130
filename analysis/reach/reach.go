package reach

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/access"
)

// Options say what is asked of a revision.
type Options struct {
	World *statement.World
	// Judge decides by the documents as they are.
	Judge statement.Judge
	// Rebuild returns what decides by the documents with some written and some gone. Without
	// it, statements alone decide what follows a changed document.
	Rebuild func(ctx context.Context, adds, removes []map[string]any) (statement.Judge, error)
	// Containers are those of the documents. Without them, Origin roles and bindings are taken for
	// documents of their own, and no edge writes a container.
	Containers []access.Container
	Revision   string
	Now        time.Time

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
	// Class is the worst class that is reported, and Paths how many of each pair; zero is 1.
	Class Class
	Paths int
	// Except are paths that are known, and left out.
	Except []Exception
	// Cuts looks for the grants without which paths are gone.
	Cuts bool
	// System adds the subjects of Kubernetes itself.
	System bool
	// NodeEscape adds the edge of privileged pods, GitOnly leaves out that of documents in
	// the cluster.
	NodeEscape, GitOnly bool

	MaxHops, MaxChanges, MaxIdentities int

	standIn   string // the name of objects that no document names
	unchecked bool   // the engine has decided the hops of another search
	before    *graph // another search that has ended, or nil
}

// Bounds of a search that are usual.
const (
	MaxHops       = 8
	MaxChanges    = 3
	MaxIdentities = 1_000_000
)

// Subject is a subject and the identity that an API server makes of it.
type Subject struct {
	Name string
	*Identity
}

// Subjects returns the subjects that paths begin with unless Options name some.
func Subjects(o Options) []Subject {
	return elements.Map(newGraph(&o).begin(), func(s start) Subject { return Subject{s.name, s.identity} })
}

// start is a subject that paths begin with.
type start struct {
	name string
	*node
}

// Find returns the paths of a revision.
func Find(ctx context.Context, o Options) (*Report, error) {
	s, err := begin(&o)
	if err != nil {
		return nil, err
	}
	if err := s.explore(ctx); err != nil {
		return nil, err
	}
	return s.report(ctx)
}

// InputError is the error of a subject or a target that is not one.
type InputError struct{ Field, Message string }

func (e *InputError) Error() string { return e.Message }

// search is what is asked of a revision and what can be reached there.
type search struct {
	*graph
	starts []start
	few    int // see fewWorlds
	walks  int // see maxWalks
}

// begin returns the search that options ask for, before anything is explored.
func begin(o *Options) (*search, error) {
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
		for p := range strings.SplitSeq(from, ",") {
			if !isPrincipal(p) {
				return nil, &InputError{"from", fmt.Sprintf("subject %q: must be user:NAME or group:NAME, several joined by commas", from)}
			}
			o.Known = append(o.Known, p)
		}
	}
	s := &search{graph: newGraph(o), few: fewWorlds, walks: maxWalks}
	s.goals = goals
	if len(o.To) == 0 {
		s.goals = append(s.goals, goal{name: ClusterAdmin})
		for _, namespace := range s.namespaces {
			if o.Namespace == "" || o.Namespace == namespace {
				s.goals = append(s.goals, goal{name: namespaceAdmin + namespace, namespace: namespace})
			}
		}
	}
	if isAny {
		for _, p := range s.subjects(true) {
			s.goals = append(s.goals, goal{name: p, principal: p})
		}
	}
	s.starts = s.begin()
	return s, nil
}

// isAtAll reports whether a node is at every goal.
func (s *search) isAtAll(n *node) bool {
	return !slices.ContainsFunc(s.goals, func(x goal) bool { return !x.reached(n) })
}

// nodesAt returns the nodes that are at a goal, with how certain that is: of a class or better.
func (s *search) nodesAt(goal int, worst Class) map[*node]Class {
	at := make(map[*node]Class)
	for _, n := range s.order {
		if class, _ := s.goals[goal].classAt(n); class <= worst {
			at[n] = class
		}
	}
	return at
}

// towards returns the distances of all nodes to a goal, by class; nil if no node is there.
func (s *search) towards(goal int) (out []*distances) {
	at := s.nodesAt(goal, s.o.Class)
	if len(at) == 0 {
		return nil
	}
	for class := Certain; class <= s.o.Class; class++ {
		out = append(out, s.distances(at, class))
	}
	return out
}

// classOf returns the class of the best path of a subject by the distances to a goal.
func (s *search) classOf(start int, distances []*distances) Class {
	for class := range distances {
		if distances[class].from(s.starts[start].node) <= s.o.MaxHops {
			return Class(class)
		}
	}
	return never
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
	return slices.DeleteFunc(out, func(p string) bool { return g.unlisted[p] })
}

// begin adds the nodes that paths begin with.
func (g *graph) begin() (out []start) {
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

// report finds the best paths of each pair.
func (s *search) report(ctx context.Context) (*Report, error) {
	g := s.graph
	out := &Report{Revision: g.o.Revision, Now: g.o.Now.UTC().Format(time.RFC3339), Paths: []Path{}, Excepted: []Path{}, Cuts: []Cut{}}
	for i := range s.goals {
		distances := s.towards(i)
		if distances == nil {
			continue
		}
		for _, from := range s.starts {
			if len(g.o.From) == 0 && distances[Certain].from(from.node) == 0 {
				continue
			}
			found, isCut := routes(from.node, distances, max(1, g.o.Paths), g.o.MaxHops, s.walks)
			if isCut {
				g.omit(notTriedWalks)
			}
			for _, w := range found {
				path, err := g.path(ctx, from, &s.goals[i], w.arcs)
				if err != nil {
					return nil, err
				}
				path.Class = w.worst
				out.Paths = append(out.Paths, *path)
			}
		}
	}
	out.NotCovered = slices.Clone(notCovered)
	if g.o.Containers == nil {
		out.NotCovered = append(out.NotCovered, notCoveredContainers)
	}
	out.notTried = slices.Sorted(maps.Keys(g.omitted))
	out.NotCovered = append(out.NotCovered, out.notTried...)
	out.except(g.o.Except, g.o.Now)
	if g.o.Cuts {
		if err := g.cut(ctx, out); err != nil {
			return nil, err
		}
	}
	out.sum()
	return out, nil
}

// notCoveredContainers is what an answer without the documents of containers leaves out.
const notCoveredContainers = "Policies and PolicyBindings of writ.dev that a hop could write"

// What a search leaves out where there is too much of it.
const (
	notTriedWalks  = "further paths of some pairs: too many lead nearly to the target; --paths has all that were found"
	notTriedGroups = "some combinations of groups that take something away and can be impersonated or certified: of more than 4, each and all are tried"
)

// omit notes what is left out.
func (g *graph) omit(what string) {
	if g.omitted == nil {
		g.omitted = make(map[string]bool)
	}
	g.omitted[what] = true
}

var notCovered = []string{
	"operators and GitOps controllers that act for others", "identities of clouds", "persistent volumes", "APIServices, services and endpoints",
	"admission and pod security by others than documents", "group membership that only an identity provider knows",
	"identities that only the documents of Kubernetes itself name, unless --system is given",
}
