package questions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// Bounds of a search by a server, which answers others meanwhile.
const (
	maxReached = 100_000 // identities
	maxPaths   = 10      // of each pair
)

// Reach lists who can become whom, step by step.
func (a *API) Reach() http.HandlerFunc {
	return a.Service.List(exchange.List{
		Form: exchange.Problem,
		Answer: func(r *http.Request, p decision.Policies) ([]byte, *exchange.Refusal) {
			o, refused := reachOf(r.URL.RawQuery)
			if refused != nil {
				return nil, refused
			}
			ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
			defer cancel()
			report, err := pathsBy(ctx, p, *o)
			if err != nil {
				return nil, reachRefusal(err)
			}
			return a.encoded(nil, report, "name a subject or a target with ?from= and ?to=")
		},
	})
}

// errWithoutTables is the error of policies that statements cannot be made of.
var errWithoutTables = errors.New("no tables")

// pathsBy returns the paths that options ask for by policies. What follows a changed document is
// decided by statements.
func pathsBy(ctx context.Context, p decision.Policies, o reach.Options) (*reach.Report, error) {
	o.Now = p.Now()
	p = p.At(o.Now)
	if o.World = statement.Of(p); o.World == nil {
		return nil, errWithoutTables
	}
	o.Judge, o.Revision = judge.Of(p), p.Loaded().Revision
	o.MaxHops, o.MaxChanges, o.MaxIdentities = reach.MaxHops, reach.MaxChanges, maxReached
	return reach.Find(ctx, o)
}

func reachRefusal(err error) *exchange.Refusal {
	var invalid *reach.InputError
	switch {
	case errors.As(err, &invalid):
		return exchange.BadRequest(invalid.Field, invalid.Error())
	case errors.Is(err, errWithoutTables):
		return withoutStatements
	case errors.Is(err, reach.ErrTooManyIdentities):
		return &exchange.Refusal{Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf("more than %d identities can be reached; writ reach follows more", maxReached)}
	}
	return refusalOf(err)
}

// reachParameters are the parameters of a question about paths, and whether one may be
// repeated.
var reachParameters = map[string]bool{"from": true, "to": true, "class": false, "paths": false, "namespace": false, "cluster": false, "timeout": false}

// reachOf reads the address of a question about paths.
func reachOf(raw string) (*reach.Options, *exchange.Refusal) {
	given, refused := parametersOf(raw, reachParameters)
	if refused != nil {
		return nil, refused
	}
	for key, values := range given {
		if key != "namespace" && key != "cluster" && slices.Contains(values, "") {
			return nil, exchange.BadRequest(key, key+" must not be empty")
		}
	}
	o := &reach.Options{From: given["from"], To: given["to"], Namespace: given.Get("namespace"), Class: reach.Possible, Paths: 1, Cuts: given.Has("from") || given.Has("to"), Stated: map[string]any{}}
	if given.Has("cluster") {
		o.Stated["cluster"] = given.Get("cluster")
	}
	if text := given.Get("class"); text != "" {
		class, known := reach.ParseClass(text)
		if !known {
			return nil, exchange.BadRequest("class", "class must be certain, assumed or possible")
		}
		o.Class = class
	}
	if text := given.Get("paths"); text != "" {
		var err error
		if o.Paths, err = strconv.Atoi(text); err != nil || o.Paths < 1 || o.Paths > maxPaths {
			return nil, exchange.BadRequest("paths", fmt.Sprintf("paths must be a number from 1 to %d", maxPaths))
		}
	}
	for _, from := range o.From {
		if strings.Count(from, ",") > 100 {
			return nil, exchange.BadRequest("from", "from must name at most 100 principals")
		}
	}
	return o, nil
}
