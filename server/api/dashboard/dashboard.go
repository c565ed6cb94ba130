// Package dashboard answers the debugging API of dashboards: what the visibility
// policies give to the caller that asks. Its callers must be authenticated; a name in a
// header or a parameter does not authenticate.
package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// Cache keeps authorizations of users.
type Cache interface {
	// Forget drops what is kept for a user, a name and never a pattern, and returns how
	// many entries there were.
	Forget(p decision.Policies, user string) int
}

// Dashboard answers the debugging API. All fields are required.
type Dashboard struct {
	Service *exchange.Service
	Cache   Cache
	// Labels are those of a cluster, nil if they are unknown.
	Labels decision.ClusterLabels
}

// Form is how clients of the debugging API read refusals: an object with the one key
// error.
func Form(r *exchange.Refusal) (status int, contentType []string, body []byte) {
	message := r.Message
	if r == exchange.Unauthorized {
		message = "authentication required"
	}
	b := jsontext.AppendString([]byte(`{"error":`), exchange.Line(message, exchange.MaxText))
	return r.Status, exchange.JSON, append(b, "}\n"...)
}

// Policies answers which policies name the caller.
func (d *Dashboard) Policies() http.HandlerFunc { return d.list(nil, d.listPolicies) }

// Permissions answers what the caller may see of clusters.
func (d *Dashboard) Permissions() http.HandlerFunc {
	return d.list([]string{"cluster"}, d.listPermissions)
}

// CustomTypes answers which custom types the caller can discover.
func (d *Dashboard) CustomTypes() http.HandlerFunc {
	return d.list([]string{"include_source_details"}, d.listCustomTypes)
}

// ClearCache drops what is kept for the caller.
func (d *Dashboard) ClearCache(w http.ResponseWriter, r *http.Request) {
	caller, refused := d.principal(r)
	if refused == nil {
		_, refused = readQuery(r.URL.RawQuery, nil)
	}
	if refused == nil {
		refused = exchange.CheckNoBody(r)
	}
	if refused != nil {
		d.Service.Refuse(w, Form, refused)
		return
	}
	exchange.Write(w, http.StatusOK, exchange.JSON, jsontext.Line(map[string]any{
		"message": "Cache cleared successfully", "user": caller.User,
		"rbac_entries_cleared": d.Cache.Forget(d.Service.Current(), caller.User),
	}))
}

// principal is the principal that the API answers about: its caller alone.
func (d *Dashboard) principal(r *http.Request) (decision.Principal, *exchange.Refusal) {
	caller := auth.CallerOf(r.Context())
	if caller == nil {
		return decision.Principal{}, exchange.Unauthorized
	}
	return decision.Principal{User: caller.Name, Groups: caller.Groups}, nil
}

// lister returns a value that is written as JSON, and the listing it is made of.
type lister func(context.Context, decision.Policies, decision.Principal, url.Values) (any, *decision.Listing, *exchange.Refusal)

// list is an endpoint about the caller that takes these parameters. It may try all
// clusters or types.
func (d *Dashboard) list(parameters []string, list lister) http.HandlerFunc {
	return d.Service.List(exchange.List{
		Form: Form,
		Check: func(r *http.Request) *exchange.Refusal {
			_, refused := d.principal(r)
			return refused
		},
		Answer: func(r *http.Request, p decision.Policies) ([]byte, *exchange.Refusal) {
			principal, refused := d.principal(r)
			if refused != nil {
				return nil, refused
			}
			query, refused := readQuery(r.URL.RawQuery, parameters)
			if refused != nil {
				return nil, refused
			}
			ctx, cancel := context.WithTimeout(r.Context(), d.Service.Timeout)
			defer cancel()
			value, listing, refused := list(ctx, p, principal, query)
			if refused != nil {
				return nil, refused
			}
			if listing.EvaluationError != "" {
				return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "evaluation error: " + listing.EvaluationError}
			}
			return jsontext.Line(value), nil
		},
	})
}

// readQuery refuses parameters that an endpoint does not take: the answer would look
// like one that respects them.
func readQuery(raw string, parameters []string) (url.Values, *exchange.Refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, exchange.MalformedQuery
	}
	for name, values := range query {
		if !slices.Contains(parameters, name) {
			return nil, &exchange.Refusal{Status: http.StatusBadRequest, Message: "unknown parameter " + exchange.Line(name, exchange.MaxName)}
		}
		for _, value := range values {
			if !utf8.ValidString(value) {
				return nil, exchange.MalformedQuery
			}
		}
	}
	return query, nil
}

// instant is a time as the debugging API writes it.
func instant(at time.Time) string { return at.UTC().Format(time.RFC3339) }
