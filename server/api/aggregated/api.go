package aggregated

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/questions"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
)

// Options configure an API. Service, Locator and Changed are required.
type Options struct {
	Service *exchange.Service
	// Locator finds the namespaces of the cluster.
	Locator *lists.Locator
	// Changed returns what is closed when another revision is active than after the call.
	Changed func() <-chan struct{}
	// SessionKey and EscalationKey are the keys of a user's extra that hold them.
	SessionKey, EscalationKey string
	// MaxAnswer is the size in bytes of the largest answer but a watch.
	MaxAnswer int
	// Version is the version of writ.
	Version string
}

// API answers for the resource accessiblenamespaces. It is safe for concurrent use.
type API struct {
	Options
	pages    lists.Pages
	versions lists.Versions
	turns    chan struct{} // one element per list that is being made
	watches  watches
}

// New returns an API.
func New(o Options) *API {
	a := &API{Options: o, turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	a.pages.Now, a.versions.Now = time.Now, time.Now
	a.watches.items = limits.NewBudget(maxWatchedItems)
	return a
}

// maxLimit is how many objects a page has at most.
const maxLimit = 5000

// Get answers with one namespace. One that the user may not reach is not found.
func (a *API) Get() http.HandlerFunc {
	return a.handler(func(w http.ResponseWriter, r *http.Request, p decision.Policies) (any, *exchange.Refusal) {
		f, refused := formOf(r, false)
		if refused != nil {
			return nil, refused
		}
		q, refused := a.questionOf(r)
		if refused != nil {
			return nil, refused
		}
		q.name = r.PathValue("name")
		list, _, refused := a.make(r.Context(), p, q)
		if refused != nil {
			return nil, refused
		}
		if len(list.Items) == 0 {
			return nil, &exchange.Refusal{Status: http.StatusNotFound, Message: plural + "." + group + " " + strconv.Quote(q.name) + " not found"}
		}
		return f.one(q, &list.Items[0], a.versions.Of(q.key(), list)), nil
	})
}

// List answers with the namespaces that the user may reach, or with their changes.
func (a *API) List() http.HandlerFunc {
	return a.handler(func(w http.ResponseWriter, r *http.Request, p decision.Policies) (any, *exchange.Refusal) {
		q, f, refused := a.parseList(r)
		if refused != nil {
			return nil, refused
		}
		if q.options.Watch {
			return nil, a.watch(w, r, q, f)
		}
		part, number, refused := a.part(r.Context(), p, q)
		if refused != nil {
			return nil, refused
		}
		return f.list(q, part, number), nil
	})
}

// handler returns a handler that writes what answer returns, as JSON; nil has been written.
func (a *API) handler(answer func(http.ResponseWriter, *http.Request, decision.Policies) (any, *exchange.Refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := a.Service.Current()
		of := p.Loaded()
		if _, cursor, ok := strings.Cut(r.URL.Query().Get("continue"), "."); ok {
			if made := a.pages.Revision(cursor); made != nil {
				of = made
			}
		}
		refused := a.Service.Require(w, r, of)
		var object any
		if refused == nil {
			object, refused = answer(w, r, p)
		}
		if object == nil && refused == nil {
			return
		}
		var text []byte
		if refused == nil {
			text, refused = questions.Encoded(object, a.MaxAnswer, "ask for pages with ?limit=")
		}
		if refused != nil {
			a.Service.Refuse(w, exchange.Status, refused)
			return
		}
		a.Service.Send(w, exchange.Status, exchange.JSON, text)
	}
}

// part returns the page that is asked for, and the number of its list.
func (a *API) part(ctx context.Context, p decision.Policies, q *query) (lists.Part, uint64, *exchange.Refusal) {
	limit := int(min(q.options.Limit, maxLimit))
	if q.options.Continue != "" {
		if err := a.Locator.Check(); err != nil {
			return lists.Part{}, 0, questions.ListRefusal(err)
		}
		number, cursor, _ := strings.Cut(q.options.Continue, ".")
		n, _ := strconv.ParseUint(number, 10, 64) // a wrong one is the caller's own
		part, err := a.pages.Next(q.key(), "", cursor, limit)
		if err != nil {
			return part, 0, expired(err.Error())
		}
		return part, n, nil
	}
	list, _, refused := a.make(ctx, p, q)
	if refused != nil {
		return lists.Part{}, 0, refused
	}
	return a.pages.First(q.key(), "", list, limit), a.versions.Of(q.key(), list), nil
}

// make lists the namespaces of a question. It waits for its turn.
func (a *API) make(ctx context.Context, p decision.Policies, q *query) (*lists.List, *lists.Space, *exchange.Refusal) {
	ctx, cancel := context.WithTimeout(ctx, a.Service.Timeout)
	defer cancel()
	question := q.Question
	space, err := a.Locator.Locate(ctx, &question)
	switch {
	case err != nil:
		return nil, nil, questions.ListRefusal(err)
	case space == nil:
		return nil, nil, withoutCluster
	}
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return nil, nil, tooLate
	}
	of := space
	if q.name != "" {
		of = space.Only(q.name)
	}
	list, err := lists.Make(ctx, p, question, of)
	if err != nil {
		return nil, nil, questions.FilterRefusal(err)
	}
	if !q.labels.Empty() {
		list = list.Select(func(n *lists.Namespace) bool { return q.labels.Matches(labels.Set(n.Labels)) })
	}
	return list, space, nil
}

// Refusals of this API.
var (
	withoutCluster = &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "writ does not know the API server of the cluster: it is neither the default of --clusters nor the source of documents"}
	tooLate        = &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "too many lists are being made"}
)

func expired(message string) *exchange.Refusal {
	return &exchange.Refusal{Status: http.StatusGone, Message: message}
}
