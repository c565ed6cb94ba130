package selector

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/writ-policy/writ/internal/elements"
)

// ParseLabels reads a label selector as kubectl takes it, such as "tier=gold,!old". It
// returns an error for one that is malformed, or that compares numbers: such a requirement
// decides nothing.
func ParseLabels(text string) ([]Requirement, error) {
	out, dropped, err := parseLabels(text)
	if dropped != "" {
		err = fmt.Errorf("the operator %s of %q is not supported", dropped, text)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// parseLabels reads a label selector without requirements that decide nothing, and returns the
// operator of one of those.
func parseLabels(text string) (out []Requirement, dropped selection.Operator, _ error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, "", err
	}
	requirements, _ := parsed.Requirements()
	for _, q := range requirements {
		if operator, ok := operators[q.Operator()]; ok {
			out = append(out, Requirement{q.Key(), operator, q.Values().List()})
		} else {
			dropped = q.Operator()
		}
	}
	return out, dropped, nil
}

// OfURI returns the attributes of a request with the selectors of its URI, as an API server reads
// them: of a parameter that is repeated the first, and none where the path names the verb. It
// returns an error if the URI or a selector is malformed.
func OfURI(uri string) (map[string]any, error) {
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, err
	}
	parameters, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, err
	}
	byLabels, _, err := parseLabels(parameters.Get(LabelKey))
	if err != nil {
		return nil, err
	}
	byFields, err := ParseFields(parameters.Get(FieldKey))
	if err != nil {
		return nil, err
	}
	attributes := make(map[string]any)
	if len(byLabels) > 0 && !namesVerb(parsed.Path) {
		attributes[LabelKey] = Written(byLabels)
	}
	if len(byFields) > 0 && !namesVerb(parsed.Path) {
		attributes[FieldKey] = Written(byFields)
	}
	return attributes, nil
}

// namesVerb reports whether a path has a verb behind the version, as in /api/v1/watch/pods.
func namesVerb(path string) bool {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 2:
		return slices.Contains(pathVerbs, segments[2])
	case segments[0] == "apis" && len(segments) > 3:
		return slices.Contains(pathVerbs, segments[3])
	}
	return false
}

var pathVerbs = []string{"watch", "proxy"}

// ParseFields reads a field selector, such as "spec.nodeName=node-1,type!=Opaque".
func ParseFields(text string) ([]Requirement, error) {
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	out := elements.Map(parsed.Requirements(), func(q fields.Requirement) Requirement {
		return Requirement{q.Field, operators[q.Operator], []string{q.Value}}
	})
	return out, nil
}

// operators are those of requirements by the words of kubectl. "gt" and "lt" have none.
var operators = map[selection.Operator]string{
	selection.In: in, selection.Equals: in, selection.DoubleEquals: in,
	selection.NotIn: notIn, selection.NotEquals: notIn,
	selection.Exists: exists, selection.DoesNotExist: doesNotExist,
}
