// Package handler has the endpoints of what the web console shows: it reads queries, asks
// a console.Viewer, and writes JSON. It decides neither what an answer is nor who may see it,
// beyond the role of an endpoint.
package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// Bounds of the endpoints, apart from those of decisions: a console must not shed one.
const (
	Places  = 16
	Timeout = time.Second
	// A table of all rows takes longer than a page, and few are made at a time.
	tablePlaces = 2
	tableTime   = time.Minute
	// A proposal is translated and compared: as much work as a reload.
	proposalPlaces = 2
	proposalTime   = time.Minute
)

// maxURL is the longest path and query that is read.
const maxURL = 16 << 10

// API answers what the console shows. New makes it.
type API struct {
	// service has places of its own, and bounds bodies.
	service *exchange.Service
	console console.Console

	places, tables, proposals *limits.Budget
}

// New returns the endpoints.
func New(s *exchange.Service, c console.Console) *API {
	return &API{service: s, console: c, places: limits.NewBudget(Places), tables: limits.NewBudget(tablePlaces), proposals: limits.NewBudget(proposalPlaces)}
}

// question is a request with the view that answers it.
type question struct {
	ctx    context.Context
	view   console.Viewer
	caller console.Caller
	query  url.Values
	limit  int // 0 if the query has none
	r      *http.Request
}

// document is an answer as it is sent.
type document struct {
	contentType []string
	name        string // of the file that a browser stores; empty for none
	body        []byte
}

// get returns the handler of an endpoint whose query has known parameters, each at most
// once.
func (a *API) get(answer func(*question) (any, error), known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, refused := queryOf(r, known)
		if refused != nil {
			a.service.Refuse(w, exchange.Problem, refused)
			return
		}
		if query.Get("format") == formatCSV {
			a.table(w, r, query, answer)
			return
		}
		if !a.places.Acquire(1) {
			a.service.Refuse(w, exchange.Problem, tooMany)
			return
		}
		found, err := func() (document, error) {
			defer a.places.Release(1) // before the answer is sent: its reader may be slow
			return a.answer(w, r, query, Timeout, answer)
		}()
		a.write(w, found, err)
	}
}

// table answers with a table of all rows. It keeps its place until it is sent: the table may be
// larger than other answers.
func (a *API) table(w http.ResponseWriter, r *http.Request, query url.Values, answer func(*question) (any, error)) {
	if !a.tables.Acquire(1) {
		a.service.Refuse(w, exchange.Problem, tooMany)
		return
	}
	defer a.tables.Release(1)
	// The error is that of a writer that is not a connection.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(tableTime + exchange.WriteWithin))
	found, err := a.answer(w, r, query, tableTime, answer)
	a.write(w, found, err)
}

// answer computes an answer.
func (a *API) answer(w http.ResponseWriter, r *http.Request, query url.Values, within time.Duration, answer func(*question) (any, error)) (document, error) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	q := &question{ctx: ctx, view: a.console.Now(), caller: a.callerOf(r), query: query, r: r}
	if revision := q.view.Revision(); revision != "" {
		w.Header().Set(exchange.RevisionHeader, revision)
	}
	var err error
	if q.limit, err = q.number("limit"); err != nil {
		return document{}, err
	}
	return documentOf(answer(q))
}

// documentOf returns an answer as it is sent, and the error that there is in its place.
func documentOf(value any, err error) (document, error) {
	if err != nil {
		return document{}, err
	}
	if d, ok := value.(document); ok {
		return d, nil
	}
	return document{contentType: exchange.JSON, body: encode(value)}, nil
}

// Named returns a handler that answers only requests for an address, localhost or an allowed
// name, on every listener: what the console shows must not be read through a name that
// resolves to this machine.
func (a *API) Named(next http.HandlerFunc) http.HandlerFunc {
	hosts := a.service.Rule
	hosts.Loopback = true
	return func(w http.ResponseWriter, r *http.Request) {
		if !hosts.AnswersFor(r.Host) {
			a.service.Refuse(w, exchange.Problem, misdirected)
			return
		}
		next(w, r)
	}
}

var misdirected = &exchange.Refusal{Status: http.StatusMisdirectedRequest, Message: "the host must be an address, localhost or an allowed name"}

// write writes an answer or a refusal.
func (a *API) write(w http.ResponseWriter, d document, err error) {
	var e *console.Error
	switch {
	case errors.As(err, &e) && e.Reason == console.Pending:
		w.Header().Set("Retry-After", strconv.Itoa(max(int(e.Wait.Seconds()), 1)))
		exchange.Write(w, http.StatusAccepted, exchange.JSON, []byte("{\"state\":\"pending\"}\n"))
		return
	case err != nil:
		a.service.Refuse(w, exchange.Problem, refusalOf(err))
		return
	}
	if d.name != "" {
		w.Header().Set("Content-Disposition", "attachment; filename="+d.name)
	}
	a.service.Send(w, exchange.Problem, d.contentType, d.body)
}

// encode returns an answer as a line of JSON.
func encode(value any) []byte {
	return append(jsontext.Marshal(value), '\n')
}

var tooMany = &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "too many requests of consoles in flight"}

// callerOf returns who asks.
func (a *API) callerOf(r *http.Request) console.Caller {
	caller := auth.CallerOf(r.Context())
	c := console.Caller{SeesAll: a.service.Rule.Has(caller, auth.Auditor)}
	if caller != nil {
		c.User, c.Groups = caller.Name, caller.Groups
	}
	return c
}

// queryOf reads a query that has known parameters, each at most once: a misspelt one must
// not be ignored.
func queryOf(r *http.Request, known []string) (url.Values, *exchange.Refusal) {
	if len(r.URL.Path)+len(r.URL.RawQuery) > maxURL {
		return nil, &exchange.Refusal{Status: http.StatusRequestURITooLong, Message: fmt.Sprintf("path and query must not exceed %d bytes", maxURL)}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, exchange.MalformedQuery
	}
	for name, values := range query {
		switch {
		case len(known) == 0:
			return nil, &exchange.Refusal{Status: http.StatusBadRequest, Field: name, Message: "the query must have no parameter"}
		case !slices.Contains(known, name) || len(values) > 1:
			return nil, &exchange.Refusal{
				Status: http.StatusBadRequest, Field: name, Message: "the query has, once each, no parameter but " + strings.Join(known, ", "),
			}
		case !utf8.ValidString(values[0]): // U+FFFD, which an answer would have instead, may be the name of a user
			return nil, &exchange.Refusal{Status: http.StatusBadRequest, Field: name, Message: "the parameter " + name + " must be UTF-8"}
		}
	}
	return query, nil
}

// refusalOf converts the error of a view.
func refusalOf(err error) *exchange.Refusal {
	var e *console.Error
	if !errors.As(err, &e) {
		return exchange.Internal
	}
	r := &exchange.Refusal{Message: e.Message, Field: e.Field}
	switch e.Reason {
	case console.Invalid:
		r.Status, r.Invalid, r.Code = http.StatusBadRequest, e.Code != "", e.Code
	case console.Forbidden:
		r.Status = http.StatusForbidden
	case console.NotFound:
		r.Status = http.StatusNotFound
	case console.Mistaken:
		r.Status, r.Diagnostics = http.StatusUnprocessableEntity, jsontext.Marshal(e.Diagnostics)
	case console.NotReady, console.Busy:
		r.Status = http.StatusServiceUnavailable
	case console.Internal, console.Pending:
		return exchange.Internal
	}
	return r
}

// number reads a parameter that is a number from 0; absent, it is 0.
func (q *question) number(name string) (int, error) {
	text := q.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, &console.Error{Reason: console.Invalid, Field: name, Message: "the parameter " + name + " must be a number"}
	}
	return n, nil
}

// Explanation explains the decision on a request of the point in the path.
func (a *API) Explanation() http.HandlerFunc {
	return a.service.Decision(exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, _ decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			query, refused := queryOf(r, []string{"at"})
			if refused != nil {
				return b, refused
			}
			var at time.Time
			if text := query.Get("at"); text != "" {
				var err error
				if at, err = console.ParseTime(text); err != nil {
					return b, &exchange.Refusal{Status: http.StatusBadRequest, Field: "at", Message: "the parameter at " + err.Error()}
				}
			}
			ctx, cancel := context.WithTimeout(r.Context(), Timeout)
			defer cancel()
			e, err := a.console.Now().Explain(ctx, a.callerOf(r), r.PathValue("point"), body.Bytes(), at)
			if err != nil {
				return b, refusalOf(err)
			}
			return append(b, encode(e)...), nil
		},
	})
}
