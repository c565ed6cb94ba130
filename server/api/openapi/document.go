package openapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/auth"
)

//go:embed schemas.yaml
var schemas []byte

// Path is where each listener has its document.
const Path = "/v1/openapi.json"

// Document returns the document of endpoints. A Name that no schema has is a panic.
func Document(title string, endpoints []Endpoint) []byte {
	s := &schemaSet{named: make(map[string]any)}
	if err := yaml.Unmarshal(schemas, &s.named); err != nil {
		panic(err) // a file of this package
	}
	for point, text := range rego.Schemas() {
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			panic(err) // a file of package rego
		}
		delete(schema.(map[string]any), "$schema")
		s.named[string(requestName(point))] = schema
	}
	paths := make(map[string]map[string]any)
	for i := range endpoints {
		e := &endpoints[i]
		path := templateOf(e.Pattern)
		if paths[path] == nil {
			paths[path] = make(map[string]any)
		}
		paths[path][strings.ToLower(e.Method)] = s.operation(e)
	}
	text := jsontext.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": title, "version": "1"},
		"paths":   paths,
		"components": map[string]any{
			"schemas": s.used(),
			"securitySchemes": map[string]any{
				"bearer":      map[string]any{"type": "http", "scheme": "bearer"},
				"certificate": map[string]any{"type": "mutualTLS"},
			},
		},
	})
	return append(text, '\n')
}

// requestName is the name of the schema of requests at a point.
func requestName(point string) Name { return Name(strings.ToUpper(point[:1]) + point[1:] + "Request") }

// templateOf is a pattern as OpenAPI writes it: :name and *name are {name}.
func templateOf(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if name, ok := nameOf(part); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// nameOf is the name of a part of a pattern that is a parameter.
func nameOf(part string) (string, bool) {
	if part == "" || part[0] != ':' && part[0] != '*' {
		return "", false
	}
	return part[1:], true
}

// idOf is the operationId: the method and the words of the pattern.
func idOf(e *Endpoint) string {
	id := strings.ToLower(e.Method)
	for word := range strings.FieldsFuncSeq(e.Pattern, func(r rune) bool { return strings.ContainsRune("/:*.-", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (s *schemaSet) operation(e *Endpoint) map[string]any {
	out := map[string]any{
		"operationId": idOf(e), "tags": []string{e.Tag}, "summary": e.Summary,
		"security": []any{}, "responses": s.responses(e),
	}
	if e.Role != auth.Public {
		role := []string{e.Role.String()}
		out["description"] = "Requires the role " + role[0] + "."
		out["security"] = []any{map[string]any{"bearer": role}, map[string]any{"certificate": role}}
	}
	if parameters := s.parameters(e); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if e.Body != nil {
		content := map[string]any{"application/json": media(s.schema(e.Body))}
		if e.IsLines {
			content[linesMedia] = map[string]any{}
		}
		out["requestBody"] = map[string]any{"required": true, "content": content}
	}
	return out
}

const linesMedia = "application/x-ndjson"

func media(schema map[string]any) map[string]any { return map[string]any{"schema": schema} }

func (s *schemaSet) parameters(e *Endpoint) []any {
	var out []any
	stated := slices.Clone(e.Parameters)
	for part := range strings.SplitSeq(e.Pattern, "/") {
		name, ok := nameOf(part)
		if !ok {
			continue
		}
		at := slices.IndexFunc(stated, func(p Parameter) bool { return p.Name == name })
		p := Parameter{Name: name, Description: "The " + name + "."}
		if at >= 0 {
			p = stated[at]
			stated = slices.Delete(stated, at, at+1)
		}
		p.IsRequired = true
		out = append(out, s.parameter(&p, "path"))
	}
	for i := range stated {
		out = append(out, s.parameter(&stated[i], "query"))
	}
	if e.IsOfRevision {
		out = append(out,
			s.parameter(&Parameter{Name: "Writ-Revision", Description: "Answer from this revision only."}, "header"),
			s.parameter(&Parameter{Name: "Writ-Min-Sequence", Description: "Answer from a revision with at least this sequence number.", Schema: 0}, "header"))
	}
	return out
}

func (s *schemaSet) parameter(p *Parameter, in string) map[string]any {
	if p.Schema == nil {
		p.Schema = ""
	}
	out := map[string]any{"name": p.Name, "in": in, "description": p.Description, "schema": s.schema(p.Schema)}
	if p.IsRequired {
		out["required"] = true
	}
	return out
}

func (s *schemaSet) responses(e *Endpoint) map[string]any {
	status := cmp.Or(e.Status, http.StatusOK)
	content := s.content(e.Answer)
	if len(e.Media) > 0 && e.Answer == nil {
		clear(content)
	}
	for _, name := range e.Media {
		content[name] = map[string]any{}
		if strings.HasSuffix(name, "+json") { // in place of JSON without a name
			content[name] = media(s.schema(e.Answer))
			delete(content, "application/json")
		}
	}
	if e.IsLines {
		content[linesMedia] = map[string]any{}
	}
	answer := map[string]any{"description": http.StatusText(status), "content": content}
	if e.IsOfRevision {
		answer["headers"] = map[string]any{"Writ-Revision": map[string]any{
			"description": "The revision that answered.", "schema": s.schema(""),
		}}
	}
	out := map[string]any{strconv.Itoa(status): answer, "default": s.refusal(e.Refusal)}
	for status, body := range e.Others {
		out[strconv.Itoa(status)] = map[string]any{
			"description": http.StatusText(status), "content": s.content(body),
		}
	}
	return out
}

// content is the content of an answer: JSON with a schema, or plain text for nil.
func (s *schemaSet) content(schema any) map[string]any {
	if schema == nil {
		return map[string]any{"text/plain": media(s.schema(""))}
	}
	return map[string]any{"application/json": media(s.schema(schema))}
}

// refusal is the response of a request that is refused, with any other status.
func (s *schemaSet) refusal(form Name) map[string]any {
	contentType, schema := "application/json", any(form)
	switch form {
	case "":
		contentType, schema = "application/problem+json", Name("Problem")
	case Text:
		contentType, schema = "text/plain", ""
	}
	return map[string]any{
		"description": fmt.Sprintf("The request is refused (%s).", contentType),
		"content":     map[string]any{contentType: media(s.schema(schema))},
	}
}
