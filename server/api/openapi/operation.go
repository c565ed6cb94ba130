// Package openapi describes the endpoints of a listener as an OpenAPI 3.1 document. A route
// states what its endpoint takes and returns in an Operation, beside its handler; the
// schemas of Go types follow from their fields. The package knows no handler.
//
// # Design
//
// The document is made from the routes of a listener when it is first read, so it has what
// the listener serves and nothing else. A file written by hand, or generated and kept,
// would be correct for one configuration.
//
// Answers that are encoded from Go types have schemas made from these types. The formats of
// standards, and answers that are written without encoding/json, stand in schemas.yaml.
// Tests compare both with answers.
package openapi

import (
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/auth"
)

// Operation describes an endpoint. It must have a Tag and a Summary.
type Operation struct {
	// Tag is the group of the endpoint, and Summary one sentence on what it does.
	Tag, Summary string
	// Parameters are those of the query, and descriptions of those of the path.
	Parameters []Parameter
	// Body is the schema of the JSON request, and Answer that of the JSON answer: a Name, a
	// Partial, or a value of the Go type that is encoded. Nil means none.
	Body, Answer any
	// Media are further content types of the answer; those that end in +json replace
	// application/json. With neither Answer nor Media it is plain text.
	Media []string
	// Status is that of the answer; zero means 200.
	Status int
	// Others are further statuses with their answers, as in Answer; nil is plain text.
	Others map[int]any
	// IsLines marks an endpoint that also takes JSON lines and answers with such.
	IsLines bool
	// IsOfRevision marks an answer of one revision, which preconditions may select.
	IsOfRevision bool
	// Refusal is the schema of refusals; empty means Problem, and Text plain text.
	Refusal Name
}

// Parameter is a part of the path, if the path has its name, and else a parameter of the
// query.
type Parameter struct {
	Name, Description string
	// Schema is as in Operation; nil means a string.
	Schema any
	// IsRequired marks a parameter of the query that must be there.
	IsRequired bool
}

// Name names a schema of schemas.yaml.
type Name string

// Partial is the schema of a type, members of which may be absent.
type Partial struct{ Of any }

// Text is the Refusal of endpoints that refuse requests in plain text.
const Text Name = "text"

// For returns o for an endpoint with a summary, a body and an answer.
func (o Operation) For(summary string, body, answer any) Operation {
	o.Summary, o.Body, o.Answer = summary, body, answer
	return o
}

// With returns o with parameters.
func (o Operation) With(parameters ...Parameter) Operation {
	o.Parameters = parameters
	return o
}

// RequestAt returns the schema of requests at a point, by which the Rego library is
// checked. Requests of a point without one are any objects.
func RequestAt(point string) Name {
	if _, ok := rego.Schemas()[point]; ok {
		return requestName(point)
	}
	return "Object"
}

// Endpoint is an operation at a path.
type Endpoint struct {
	Method string
	// Pattern is the path with parts such as :name and *rest.
	Pattern string
	Role    auth.Role
	Operation
}
