// Package questions answers what no decision answers: who can do something, and what a
// subject can do. A body becomes a question of package change; what is not stated may be
// left open.
package questions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// API answers questions. Service is required.
type API struct {
	Service *exchange.Service
	// MaxAnswer is the size in bytes of the largest answer.
	MaxAnswer int
	// Locator finds the namespaces of lists, and Pages keep lists; both are required.
	Locator *lists.Locator
	Pages   *lists.Pages
	// Proofs verify assertions; nil means that none are verified.
	Proofs Proofs
	// Labels are those of a cluster, nil if they are unknown; it is required for filters.
	Labels decision.ClusterLabels
}

// WhoCan lists the principals that may do something.
func (a *API) WhoCan() http.HandlerFunc {
	return a.handler(func(ctx context.Context, r *http.Request, asker *question.Asker, body decision.Value) (any, *exchange.Refusal) {
		q, refused := whoCanOf(body)
		if refused != nil {
			return nil, refused
		}
		if q.Limit, q.After, refused = pageOf(r.URL.RawQuery); refused != nil {
			return nil, refused
		}
		answer, err := asker.WhoCan(ctx, q)
		return answer, refusalOf(err)
	})
}

// WhatCan lists what a subject may do: the caller, or anybody for an auditor.
func (a *API) WhatCan() http.HandlerFunc {
	return a.handler(func(ctx context.Context, r *http.Request, asker *question.Asker, body decision.Value) (any, *exchange.Refusal) {
		q, refused := whatCanOf(body)
		if refused == nil {
			refused = a.limitToCaller(r, q)
		}
		if refused != nil {
			return nil, refused
		}
		if asker.World.Access.ImpliesGroups() {
			q.Groups, _ = decision.AddImpliedGroups(q.User, q.Groups)
		}
		answer, err := asker.WhatCan(ctx, q)
		return answer, refusalOf(err)
	})
}

// Escalations lists who may request which group, and who may approve that.
func (a *API) Escalations() http.HandlerFunc {
	return a.handler(func(_ context.Context, _ *http.Request, asker *question.Asker, body decision.Value) (any, *exchange.Refusal) {
		given, refused := members(body, "name", "cluster", keyAt)
		if refused != nil {
			return nil, refused
		}
		var f exchange.Reader
		texts := make(map[string]string)
		for _, key := range []string{"name", "cluster"} {
			if value, ok := given[key]; ok {
				texts[key] = f.Text(key, value)
			}
		}
		if f.Refused != nil {
			return nil, f.Refused
		}
		list := asker.World.Whole().Revision.Tables
		return question.EscalationsOf(list, texts["name"], texts["cluster"], dates.Of(asker.Now)), nil
	})
}

// limitToCaller refuses a question about others from a caller who is not an auditor. The
// groups of a question about the caller are those that the server authenticated.
func (a *API) limitToCaller(r *http.Request, q *question.Question) *exchange.Refusal {
	caller := auth.CallerOf(r.Context())
	if a.Service.Rule.Has(caller, auth.Auditor) {
		return nil
	}
	if !caller.Is(q.User) || q.Groups != nil && !slices.Equal(sorted(q.Groups), sorted(caller.Groups)) {
		return &exchange.Refusal{Status: http.StatusForbidden, Message: "only auditors may ask about others; about yourself, send your name as user and no groups"}
	}
	q.Groups = caller.Groups
	return nil
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// handler returns the handler of a question.
func (a *API) handler(answer func(context.Context, *http.Request, *question.Asker, decision.Value) (any, *exchange.Refusal)) http.HandlerFunc {
	return a.Service.Decision(exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			now, refused := timeOf(body, p.Now)
			if refused != nil {
				return b, refused
			}
			p = p.At(now)
			statements := statement.Of(p)
			if statements == nil {
				return b, withoutStatements
			}
			asker := &question.Asker{World: statements, Judge: judge.Of(p), Revision: p.Loaded().Revision, Now: now}
			var found any
			refused = a.Service.Listing(func() (refused *exchange.Refusal) {
				ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
				defer cancel()
				found, refused = answer(ctx, r, asker, body)
				return refused
			})
			if refused != nil {
				return b, refused
			}
			return a.encoded(b, found, generalAdvice)
		},
	})
}

var withoutStatements = &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "no revision is active, or its bundle has no table of its deny policies"}

// generalAdvice is how to get a smaller answer to most questions.
const generalAdvice = "state more of the request, or ask for pages with ?limit= and ?after="

// TooLarge is the refusal of an answer with more bytes than the server sends.
func TooLarge(size, most int) *exchange.Refusal { return tooLarge(size, most, generalAdvice) }

func tooLarge(size, most int, advice string) *exchange.Refusal {
	return &exchange.Refusal{Status: http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("the answer has %d bytes, and the server sends at most %d (--max-answer): %s", size, most, advice)}
}

// encoded appends an answer to b. One that is too large is refused, with advice on how to get
// a smaller one.
func (a *API) encoded(b []byte, answer any, advice string) ([]byte, *exchange.Refusal) {
	text, refused := Encoded(answer, a.MaxAnswer, advice)
	return append(b, text...), refused
}

// Encoded returns an answer as a line of JSON, unless it has more bytes than the server sends;
// zero means any number.
func Encoded(answer any, most int, advice string) ([]byte, *exchange.Refusal) {
	text := jsontext.Marshal(answer)
	if most > 0 && len(text) > most {
		return nil, tooLarge(len(text), most, advice)
	}
	return append(text, '\n'), nil
}

// parametersOf reads the parameters of an address, of which known has the names, and whether
// one may be repeated.
func parametersOf(raw string, known map[string]bool) (url.Values, *exchange.Refusal) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, exchange.MalformedQuery
	}
	for key, values := range given {
		switch isList, isKnown := known[key]; {
		case !isKnown:
			return nil, exchange.BadRequest(key, fmt.Sprintf("unknown parameter %q", key))
		case !isList && len(values) > 1:
			return nil, exchange.BadRequest(key, fmt.Sprintf("the parameter %s must be given once", key))
		}
	}
	return given, nil
}

func refusalOf(err error) *exchange.Refusal {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, question.ErrTooComplex), errors.As(err, new(tables.OtherClusterError)):
		return &exchange.Refusal{Status: http.StatusUnprocessableEntity, Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "the answer took too long; state more of the request, or ask for pages with ?limit="}
	}
	if invalid := new(decision.InvalidRequest); errors.As(err, &invalid) {
		return exchange.InvalidBody(invalid)
	}
	return &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "the answer could not be computed"}
}

// pageOf reads ?limit= and ?after=. Other parameters, such as timeout, are not its own.
func pageOf(raw string) (limit int, after string, refused *exchange.Refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return 0, "", exchange.MalformedQuery
	}
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return 0, "", &exchange.Refusal{Status: http.StatusBadRequest, Message: "the parameter limit must be a number above 0"}
		}
	}
	return limit, query.Get("after"), nil
}
