package authzen

import (
	"context"
	"iter"
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// search is one of the searches.
type search struct {
	// entities reads the entities of a tuple; that which is searched has no id.
	entities func(t *tuple, f *exchange.Reader) (subject, action, resource entity)
	// candidates are the ids that the searched entity may have, in order, after one id.
	candidates func(p decision.Policies, subject, resource entity, after string) iter.Seq[string]
	// set sets the id of the searched entity.
	set func(subject, action, resource *entity, id string)
	// result appends an entity that was found.
	result func(b []byte, subject, action, resource entity) []byte
}

// SearchSubject lists the subjects of a type that may do something.
func (a *API) SearchSubject() http.HandlerFunc {
	return a.search(&search{
		entities: func(t *tuple, f *exchange.Reader) (subject, action, resource entity) {
			return t.entityOf(f, "subject", "type"), t.entityOf(f, "action", "name"), t.entityOf(f, "resource", "type", "id")
		},
		candidates: func(p decision.Policies, subject, _ entity, after string) iter.Seq[string] {
			return idsOf(p.Tables().Inventory().Subjects.At(subject.kind), after)
		},
		set:    func(subject, _, _ *entity, id string) { subject.id = id },
		result: func(b []byte, subject, _, _ entity) []byte { return appendEntity(b, subject) },
	})
}

// SearchResource lists the resources of a type to which something may be done.
func (a *API) SearchResource() http.HandlerFunc {
	return a.search(&search{
		entities: func(t *tuple, f *exchange.Reader) (subject, action, resource entity) {
			return t.entityOf(f, "subject", "type", "id"), t.entityOf(f, "action", "name"), t.entityOf(f, "resource", "type")
		},
		candidates: func(p decision.Policies, _, resource entity, after string) iter.Seq[string] {
			return idsOf(p.Tables().Inventory().Resources.At(resource.kind), after)
		},
		set:    func(_, _, resource *entity, id string) { resource.id = id },
		result: func(b []byte, _, _, resource entity) []byte { return appendEntity(b, resource) },
	})
}

// SearchAction lists the verbs that a subject may use on a resource.
func (a *API) SearchAction() http.HandlerFunc {
	return a.search(&search{
		entities: func(t *tuple, f *exchange.Reader) (subject, action, resource entity) {
			return t.entityOf(f, "subject", "type", "id"), entity{}, t.entityOf(f, "resource", "type", "id")
		},
		candidates: func(p decision.Policies, _, _ entity, after string) iter.Seq[string] {
			return func(yield func(string) bool) {
				for _, verb := range p.Tables().Verbs {
					if verb > after && !yield(verb) {
						return
					}
				}
			}
		},
		set: func(_, action, _ *entity, id string) { action.id = id },
		result: func(b []byte, _, action, _ entity) []byte {
			return append(jsontext.AppendString(append(b, `{"name":`...), action.id), '}')
		},
	})
}

// idsOf returns the ids of entities that follow one.
func idsOf(entities tables.Map[tables.Entity], after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range entities.All() {
			if id > after && !yield(id) {
				return
			}
		}
	}
}

// isMissing reports whether an inventory lists the type of an entity and not its id. The
// entity that is searched has none.
func isMissing(listed tables.Map[tables.Map[tables.Entity]], e entity) bool {
	of := listed.At(e.kind)
	return e.id != "" && of.Len() > 0 && !of.Has(e.id)
}

func appendEntity(b []byte, e entity) []byte {
	b = jsontext.AppendString(append(b, `{"type":`...), e.kind)
	return append(jsontext.AppendString(append(b, `,"id":`...), e.id), '}')
}

// search returns the handler of a search. It decides each candidate; what it finds is
// what an evaluation permits.
func (a *API) search(s *search) http.HandlerFunc {
	return a.handler(func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
		t, refused := tupleOf(body, tuple{})
		if refused != nil {
			return b, refused
		}
		var f exchange.Reader
		subject, action, resource := s.entities(&t, &f)
		page, refused := pageOf(body, &t)
		switch {
		case f.Refused != nil:
			return b, f.Refused
		case refused != nil:
			return b, refused
		}
		if refused := a.limitToCaller(r, &subject); refused != nil {
			return b, refused
		}
		isCaller := subject.kind == "user" && auth.CallerOf(r.Context()).Is(subject.id)
		refused = a.Service.Listing(func() (refused *exchange.Refusal) {
			ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
			defer cancel()
			b, refused = a.appendFound(ctx, p.AtNow(), s, found{subject, action, resource, t.context, isCaller}, page, b)
			return refused
		})
		return b, refused
	})
}

// found is a candidate of a search.
type found struct {
	subject, action, resource entity
	context                   decision.Value
	isCaller                  bool // the subject is the caller, who exists whatever is listed
}

// appendFound appends a page of the candidates that are permitted. It looks one further
// than the page, so that a page with a token is never the last.
func (a *API) appendFound(ctx context.Context, p decision.Policies, s *search, c found, page page, b []byte) ([]byte, *exchange.Refusal) {
	inventory := p.Tables().Inventory()
	count, last, next := 0, "", ""
	b = append(b, `{"results":[`...)
	candidates := s.candidates(p, c.subject, c.resource, page.after)
	if !c.isCaller && isMissing(inventory.Subjects, c.subject) || isMissing(inventory.Resources, c.resource) {
		candidates = idsOf(tables.Map[tables.Entity]{}, "")
	}
	for id := range candidates {
		s.set(&c.subject, &c.action, &c.resource, id)
		q, refused := canonical(c.subject, c.action, c.resource, c.context, inventory)
		if refused != nil {
			return b, refused
		}
		permitted := a.Decider.Try(ctx, p, q).Allowed
		if ctx.Err() != nil {
			return b, tooSlow
		}
		if !permitted {
			continue
		}
		if count == page.limit {
			next = page.token(last)
			break
		}
		if count > 0 {
			b = append(b, ',')
		}
		b = s.result(b, c.subject, c.action, c.resource)
		count, last = count+1, id
	}
	b = jsontext.AppendString(append(b, `],"page":{"next_token":`...), next)
	b = strconv.AppendInt(append(b, `,"count":`...), int64(count), 10)
	return append(b, "}}"...), nil
}

var tooSlow = &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "the search took too long; ask for smaller pages with page.limit"}

// limitToCaller refuses a search about others from a caller who is not an auditor. The
// groups of a search about the caller are those that the server authenticated.
func (a *API) limitToCaller(r *http.Request, subject *entity) *exchange.Refusal {
	caller := auth.CallerOf(r.Context())
	if a.Service.Rule.Has(caller, auth.Auditor) {
		return nil
	}
	if subject.kind != "user" || !caller.Is(subject.id) || !subject.properties.IsAbsent() {
		return &exchange.Refusal{
			Status:  http.StatusForbidden,
			Message: "only auditors may search about others; about yourself, send a subject of type user with your name and no properties",
		}
	}
	subject.properties = groupsProperty(caller.Groups)
	return nil
}
