package questions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
)

// maxLimit is how many namespaces a page has at most.
const maxLimit = 5000

// listQuery is what the address of a list states.
type listQuery struct {
	lists.Question
	isOfCaller bool
	selector   labels.Selector // nil without one
	limit      int
	cursor     string
	// text is all of it but the page.
	text string
}

// Lists lists the namespaces in which a subject may do something: the caller, or anybody for
// an auditor.
func (a *API) Lists() http.HandlerFunc {
	return a.Service.List(exchange.List{
		Form: exchange.Problem,
		Kept: func(r *http.Request) *decision.Loaded { return a.Pages.Revision(r.URL.Query().Get("cursor")) },
		Answer: func(r *http.Request, p decision.Policies) ([]byte, *exchange.Refusal) {
			q, refused := parseList(r)
			if refused == nil {
				refused = a.limitList(r, q)
			}
			if refused != nil {
				return nil, refused
			}
			part, refused := a.partOf(r, p, q)
			if refused != nil {
				return nil, refused
			}
			return a.encoded(nil, part.Page(), "ask for pages with ?limit=")
		},
	})
}

// partOf returns the page that is asked for.
func (a *API) partOf(r *http.Request, p decision.Policies, q *listQuery) (lists.Part, *exchange.Refusal) {
	owner := ""
	if caller := auth.CallerOf(r.Context()); caller != nil {
		owner = strings.Join(append([]string{caller.Name}, sorted(caller.Groups)...), "\x00")
	}
	if q.cursor != "" {
		if err := a.Locator.Check(); err != nil {
			return lists.Part{}, ListRefusal(err)
		}
		part, err := a.Pages.Next(owner, q.text, q.cursor, q.limit)
		if err != nil {
			return part, &exchange.Refusal{Status: http.StatusGone, Message: err.Error(), Code: "expired_cursor", Invalid: true}
		}
		return part, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
	defer cancel()
	list, refused := a.list(ctx, p, q)
	if refused != nil {
		return lists.Part{}, refused
	}
	return a.Pages.First(owner, q.text, list, q.limit), nil
}

// list makes the whole list.
func (a *API) list(ctx context.Context, p decision.Policies, q *listQuery) (*lists.List, *exchange.Refusal) {
	question := q.Question
	space, err := a.Locator.Locate(ctx, &question)
	if err != nil {
		return nil, ListRefusal(err)
	}
	if space == nil && q.selector != nil {
		return nil, exchange.BadRequest("labelSelector", "the labels of namespaces are not known without a cluster")
	}
	list, err := lists.Make(ctx, p, question, space)
	if err != nil {
		return nil, FilterRefusal(err)
	}
	if q.selector != nil {
		list = list.Select(func(n *lists.Namespace) bool { return q.selector.Matches(labels.Set(n.Labels)) })
	}
	return list, nil
}

// ListRefusal is the refusal for an error of lists.Locator.
func ListRefusal(err error) *exchange.Refusal {
	if unlisted := lists.UnlistedError(""); errors.As(err, &unlisted) {
		return exchange.BadRequest("cluster", err.Error())
	}
	return &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: err.Error()}
}

// limitList refuses a list about others from a caller who is not an auditor, and sets whom it
// is about.
func (a *API) limitList(r *http.Request, q *listQuery) *exchange.Refusal {
	caller := auth.CallerOf(r.Context())
	switch {
	case q.isOfCaller && caller == nil:
		return exchange.Unauthorized
	case q.isOfCaller:
		q.User, q.Groups = caller.Name, caller.Groups
	case !a.Service.Rule.Has(caller, auth.Auditor):
		return &exchange.Refusal{Status: http.StatusForbidden, Message: "only auditors may ask about others; about yourself, leave out user and group"}
	}
	if err := q.Check(); err != nil {
		return exchange.InvalidBody(err)
	}
	return nil
}

// listParameters are the parameters of a list, and whether one may be repeated.
var listParameters = map[string]bool{
	"verb": false, "apiGroup": false, "subresource": false, "cluster": false, "user": false, "group": true,
	"labelSelector": false, "limit": false, "cursor": false, "timeout": false,
}

// parseList reads the address of a list.
func parseList(r *http.Request) (*listQuery, *exchange.Refusal) {
	given, refused := parametersOf(r.URL.RawQuery, listParameters)
	if refused != nil {
		return nil, refused
	}
	var err error
	q := &listQuery{cursor: given.Get("cursor"), isOfCaller: !given.Has("user") && !given.Has("group")}
	q.Question = lists.Question{
		User: given.Get("user"), Groups: given["group"], Verb: "list", APIGroup: given.Get("apiGroup"),
		Subresource: given.Get("subresource"), Cluster: given.Get("cluster"),
	}
	if given.Has("verb") {
		q.Verb = given.Get("verb")
	}
	resource, group, hasGroup := strings.Cut(r.PathValue("resource"), ".")
	if q.Resource = resource; hasGroup {
		if given.Has("apiGroup") && q.APIGroup != group {
			return nil, exchange.BadRequest("apiGroup", fmt.Sprintf("apiGroup is %q and the resource names %q", q.APIGroup, group))
		}
		q.APIGroup = group
	}
	if given.Has("labelSelector") {
		if q.selector, err = labels.Parse(given.Get("labelSelector")); err != nil {
			return nil, exchange.BadRequest("labelSelector", "labelSelector must be a label selector of Kubernetes")
		}
	}
	if text := given.Get("limit"); given.Has("limit") {
		if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > maxLimit {
			return nil, exchange.BadRequest("limit", fmt.Sprintf("limit must be a number from 1 to %d", maxLimit))
		}
	}
	if given.Has("cursor") && q.cursor == "" {
		return nil, exchange.BadRequest("cursor", "cursor must not be empty")
	}
	for _, page := range []string{"cursor", "limit", "timeout"} {
		given.Del(page)
	}
	slices.Sort(given["group"])
	q.text = r.PathValue("resource") + "?" + given.Encode()
	return q, nil
}
