package aggregated

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
)

// query is what a request asks for.
type query struct {
	lists.Question
	labels  labels.Selector // never nil
	name    string          // of the one namespace that is asked for; empty for all
	options internalversion.ListOptions
}

// key names the question, its user included: pages and numbers of lists are theirs alone.
func (q *query) key() string {
	return string(jsontext.Marshal([]any{q.Question, q.Extra, q.labels.String(), q.name}))
}

// questionOf returns the question of a request without parameters.
func (a *API) questionOf(r *http.Request) (*query, *exchange.Refusal) {
	caller := auth.CallerOf(r.Context())
	if caller == nil {
		return nil, exchange.Unauthorized
	}
	asked := &decision.Request{User: caller.Name, Groups: caller.Groups, Extra: caller.Extra, Verb: "get", Resource: "namespaces"}
	if cause := kubernetes.ReadExtra(asked, a.SessionKey, a.EscalationKey); cause != "" {
		return nil, exchange.BadRequest("", cause)
	}
	return &query{
		Question: lists.Question{
			User: asked.User, Groups: slices.Sorted(slices.Values(asked.Groups)), Extra: asked.Extra, Verb: asked.Verb, Resource: asked.Resource,
			Scope: asked.Scope(), Attributes: asked.Attributes,
		},
		labels: labels.Everything(),
	}, nil
}

// parseList reads the request for a list or a watch, and how it is to be written.
func (a *API) parseList(r *http.Request) (*query, *form, *exchange.Refusal) {
	q, refused := a.parse(r)
	if refused != nil {
		return nil, nil, refused
	}
	f, refused := formOf(r, !q.options.Watch)
	return q, f, refused
}

// parse reads the parameters of a list or a watch.
func (a *API) parse(r *http.Request) (*query, *exchange.Refusal) {
	q, refused := a.questionOf(r)
	if refused != nil {
		return nil, refused
	}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, exchange.MalformedQuery
	}
	o := &q.options
	if err := scheme.ParameterCodec.DecodeParameters(given, metav1.SchemeGroupVersion, o); err != nil {
		return nil, exchange.BadRequest("", err.Error())
	}
	internalversion.SetListOptionsDefaults(o, true)
	if err := validation.ValidateListOptions(o, true).ToAggregate(); err != nil {
		return nil, &exchange.Refusal{Status: http.StatusUnprocessableEntity, Message: err.Error()}
	}
	switch {
	case o.Limit < 0:
		return nil, exchange.BadRequest("limit", "limit must not be negative")
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		return nil, expired("lists of the past are not kept")
	case o.LabelSelector != nil:
		q.labels = o.LabelSelector
	}
	if o.FieldSelector != nil {
		if refused := q.readFields(o.FieldSelector); refused != nil {
			return nil, refused
		}
	}
	if err := q.Check(); err != nil {
		return nil, exchange.BadRequest("fieldSelector", err.Error())
	}
	return q, nil
}

// readFields reads the question that a field selector asks.
func (q *query) readFields(s fields.Selector) *exchange.Refusal {
	members := map[string]*string{"verb": &q.Verb, "resource": &q.Resource, "apiGroup": &q.APIGroup, "metadata.name": &q.name}
	for _, each := range s.Requirements() {
		to := members[each.Field]
		switch {
		case to == nil:
			return exchange.BadRequest("fieldSelector", fmt.Sprintf("%q is not verb, resource, apiGroup or metadata.name, or is given twice", each.Field))
		case each.Operator != selection.Equals && each.Operator != selection.DoubleEquals:
			return exchange.BadRequest("fieldSelector", each.Field+" must be compared with =")
		case each.Value == "" && each.Field != "apiGroup":
			return exchange.BadRequest("fieldSelector", each.Field+" must not be empty")
		}
		*to = each.Value
		delete(members, each.Field)
	}
	return nil
}
