package lists

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Namespace is a namespace of a cluster.
type Namespace struct {
	Name string
	// Labels are never nil. The map must not be modified.
	Labels  map[string]string
	Created time.Time
}

// Space is the namespaces of a cluster at one time.
type Space struct {
	// Namespaces are sorted by name. The list must not be modified.
	Namespaces []Namespace
	// Changed is closed as soon as there is a later Space.
	Changed <-chan struct{}
}

// Only returns the space with one of its namespaces, or with none if it is not there.
func (s *Space) Only(name string) *Space {
	at, found := slices.BinarySearchFunc(s.Namespaces, name, func(n Namespace, name string) int { return cmp.Compare(n.Name, name) })
	out := &Space{Changed: s.Changed}
	if found {
		out.Namespaces = s.Namespaces[at : at+1]
	}
	return out
}

// ErrNotSynced is the error of a cluster whose namespaces are not known yet, or no longer.
var ErrNotSynced = errors.New("the namespaces of the cluster are not known yet")

// Question is what a subject may do somewhere.
type Question struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource,omitempty"`
	Cluster     string   `json:"cluster"`
	// Scope is what follows from the cluster, and what the user holds.
	Scope tables.Scope `json:"-"`
	// Extra is that of the user; Attributes are further facts.
	Extra      map[string][]string `json:"-"`
	Attributes map[string]any      `json:"-"`
}

// request is the decision that the question is about, without the place.
func (q *Question) request() *decision.Request {
	r := &decision.Request{
		User: q.User, Groups: q.Groups, Verb: q.Verb, APIGroup: q.APIGroup, Resource: q.Resource, Subresource: q.Subresource,
		Extra: q.Extra, Attributes: q.Attributes,
	}
	r.SetScope(q.Scope)
	r.Cluster = q.Cluster
	return r
}

// Check returns the error of a question that no decision answers, a *decision.InvalidRequest.
func (q *Question) Check() error { return q.request().Validate() }

// The universes of lists: the namespaces of a cluster, or those that documents name.
const (
	ofCluster   = "cluster"
	ofDocuments = "documents"
)

// List is the namespaces in which requests are allowed, for some name or none.
type List struct {
	Question Question
	// Universe is ofCluster or ofDocuments.
	Universe string
	// IsClusterScoped states that a request without a namespace is allowed.
	IsClusterScoped bool
	// Items are sorted by namespace.
	Items []Item
	// Others are the namespaces that no document names in which requests are allowed.
	Others Condition
	// Until is the first instant at which the list may differ without another revision and
	// other namespaces; nil without one.
	Until *string
	// Of is the revision that the list is of.
	Of *decision.Loaded
}

// Item is a namespace in which requests are allowed.
type Item struct {
	*Namespace // of the space
	Names      filter.Names
}

// Condition is a condition in UCAST.
type Condition struct {
	Kind filter.Kind `json:"kind"`
	// Query is nil unless the kind is conditional, and where UCAST cannot say the condition:
	// Untranslatable states then why.
	Query          *filter.Node       `json:"query,omitempty"`
	Untranslatable []filter.Construct `json:"untranslatable,omitempty"`
}

// namespaces is the resource whose objects are themselves the namespaces of requests.
const namespaces = "namespaces"

// Make lists the namespaces of a space, or those that documents name if it is nil. The error
// is a *filter.UntranslatableError if an expression or an extension decides,
// filters.ErrIncomplete, or a tables.OtherClusterError.
func Make(ctx context.Context, p decision.Policies, q Question, space *Space) (*List, error) {
	p = p.AtNow()
	world := statement.Of(p)
	if world == nil {
		return nil, filters.ErrIncomplete
	}
	places, until, err := placesOf(ctx, world, p, q)
	if err != nil {
		return nil, err
	}
	out := &List{Question: q, Universe: ofCluster, Until: until, Of: p.Loaded(), Others: Condition{Kind: filter.Never}}
	all := space
	if all == nil {
		out.Universe, all = ofDocuments, named(world)
	}
	if here, err := places.In("", nil); err != nil {
		return nil, err
	} else {
		out.IsClusterScoped = !here.IsEmpty()
	}
	isListed := make(map[string]bool)
	for i := range all.Namespaces {
		n := &all.Namespaces[i]
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		names, err := places.In(n.Name, n.Labels)
		if q.Resource == namespaces && q.APIGroup == "" {
			names, err = places.Named(n.Name, n.Name, n.Labels)
		}
		if err != nil {
			return nil, err
		}
		isListed[n.Name] = !names.IsEmpty()
		if !names.IsEmpty() {
			out.Items = append(out.Items, Item{n, names})
		}
	}
	if space == nil {
		kind, node, err := places.Others(isListed)
		if out.Others, err = conditionOf(kind, node, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// placesOf returns the condition of a question.
func placesOf(ctx context.Context, world *statement.World, p decision.Policies, q Question) (*filter.Places, *string, error) {
	asked := q.request().Completed(p)
	if err := tables.CheckCluster(world.Access.Cluster, asked.Cluster); err != nil {
		return nil, nil, err
	}
	r := filters.StatementRequest(asked).KeepWords()
	r.Cluster = cmp.Or(r.Cluster, world.Access.Cluster)
	list, until := filters.RulesOf(world, r, true, dates.Of(p.Now()))
	settled := filters.SettledBy(ctx, p, asked, []string{"namespace", "name", "namespaceLabels"})
	return filter.PlacesOf(list, r, settled.Holds), until, nil
}

// named returns the namespaces that documents name. Their labels are not known.
func named(world *statement.World) *Space {
	out := new(Space)
	for _, name := range world.Namespaces() {
		out.Namespaces = append(out.Namespaces, Namespace{Name: name})
	}
	return out
}

// namesOf returns the names of an item as a condition; it is called for those that are
// neither any nor a list.
func (i *Item) namesOf() Condition {
	node, err := i.Names.UCAST()
	out, err := conditionOf(filter.Conditional, node, err)
	if err != nil {
		panic(err) // conditions on names have no other error
	}
	return out
}

func conditionOf(kind filter.Kind, node *filter.Node, err error) (Condition, error) {
	if untranslatable, ok := errors.AsType[*filter.UntranslatableError](err); ok {
		return Condition{Kind: filter.Conditional, Untranslatable: untranslatable.Constructs}, nil
	}
	return Condition{Kind: kind, Query: node}, err
}

// Select returns the items whose namespaces a function accepts.
func (l *List) Select(accepts func(*Namespace) bool) *List {
	out := *l
	out.Items = slices.DeleteFunc(slices.Clone(l.Items), func(i Item) bool { return !accepts(i.Namespace) })
	return &out
}
