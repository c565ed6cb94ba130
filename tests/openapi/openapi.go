// Package openapi checks answers of a server by its OpenAPI document. Objects must have no
// members beyond those that their schemas name, so a schema that lacks one is found.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// metaSchema is the schema of OpenAPI 3.1 documents that the OpenAPI Initiative publishes
// under the Apache License 2.0, unmodified.
//
//go:embed testdata/oas31-2022-10-07.json
var metaSchema []byte

// Document is the OpenAPI document of a listener. It is safe for concurrent use.
type Document struct {
	root     map[string]any
	mu       sync.Mutex // held to use compiler and seen
	compiler *jsonschema.Compiler
	seen     map[string]bool
}

const (
	documentURL = "https://writ.test/openapi.json" // closed
	servedURL   = "https://writ.test/served.json"  // as it is
	metaURL     = "https://spec.openapis.org/oas/3.1/schema/2022-10-07"
)

// Read returns the document of a handler, which admits the authorization; an error if it
// is not one of OpenAPI 3.1.
func Read(h http.Handler, authorization string) (*Document, error) {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/openapi.json", nil)
	r.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("the document: %d %s", w.Code, w.Body)
	}
	d, err := Parse(w.Body.Bytes())
	if err == nil {
		err = d.Check(r.Method, r.URL.Path, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
	}
	return d, err
}

// Parse returns a document; an error if it is not one of OpenAPI 3.1, or if an operation is
// not described.
func Parse(text []byte) (*Document, error) {
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	meta, err := decode(metaSchema)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := errors.Join(c.AddResource(metaURL, meta), c.AddResource(documentURL, closed(root)), c.AddResource(servedURL, root)); err != nil {
		return nil, err
	}
	schema, err := c.Compile(metaURL)
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(root); err != nil {
		return nil, err
	}
	return &Document{root: root.(map[string]any), compiler: c, seen: make(map[string]bool)}, checkOperations(text)
}

// checkOperations checks that each operation states what it does and in which group, has an
// id of its own, and the parameters of its path.
func checkOperations(text []byte) error {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Summary     string
			Tags        []string
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	ids := make(map[string]bool)
	for path, item := range document.Paths {
		for method, operation := range item {
			rest, strange := path, ids[operation.OperationID]
			ids[operation.OperationID] = true
			for _, p := range operation.Parameters {
				if p.In == "path" {
					strange = strange || !strings.Contains(rest, "{"+p.Name+"}")
					rest = strings.Replace(rest, "{"+p.Name+"}", "", 1)
				}
			}
			if strange || strings.Contains(rest, "{") || !strings.HasSuffix(operation.Summary, ".") || len(operation.Tags) != 1 || operation.Tags[0] == "" {
				return fmt.Errorf("%s %s: the id is not its own, the parameters are not those of the path, or it has no summary and tag: %+v", method, path, operation)
			}
		}
	}
	return nil
}

func decode(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

// closed returns a document whose schemas of objects permit no members that they do not
// name, unless they state what other members are.
func closed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v)+1)
		for key, member := range v {
			out[key] = closed(member)
		}
		_, isSchema := v["type"]
		if _, ok := v["properties"].(map[string]any); ok && isSchema && v["additionalProperties"] == nil {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = closed(element)
		}
		return out
	}
	return v
}

// Operations returns the operations of the document, as "METHOD /path/{name}".
func (d *Document) Operations() []string {
	var list []string
	for path, item := range d.root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			list = append(list, strings.ToUpper(method)+" "+path)
		}
	}
	return list
}

// Checked returns the operations with the statuses, or default, that Check has compared, as
// "METHOD /path/{name} 200".
func (d *Document) Checked() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// Check compares an answer with the document. An answer at a path that the document lacks
// is an error, unless it is a refusal.
func (d *Document) Check(method, path string, status int, contentType string, body []byte) error {
	if method == http.MethodHead {
		return nil
	}
	template, operation := d.find(method, path)
	if operation == nil {
		if status >= 400 {
			return nil
		}
		return fmt.Errorf("%s %s: the document has no such operation", method, path)
	}
	responses := operation["responses"].(map[string]any)
	key := strconv.Itoa(status)
	if responses[key] == nil {
		if status < 400 {
			return fmt.Errorf("%s %s: the document has no status %d", method, template, status)
		}
		key = "default"
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("%s %s: content type %q: %w", method, template, contentType, err)
	}
	content := responses[key].(map[string]any)["content"].(map[string]any)[media]
	if content == nil {
		return fmt.Errorf("%s %s: status %d has no content type %s", method, template, status, media)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[method+" "+template+" "+key] = true
	if !strings.HasSuffix(media, "json") || content.(map[string]any)["schema"] == nil {
		return nil
	}
	return d.validate(documentURL+pointer("paths", template, strings.ToLower(method), "responses", key, "content", media, "schema"), body, func(v any) any { return v })
}

// CheckRequest compares the JSON body of a request that was answered with the document. A
// member that is null is absent.
func (d *Document) CheckRequest(method, path string, body []byte) error {
	template, operation := d.find(method, path)
	if operation == nil || len(body) == 0 {
		return nil
	}
	if operation["requestBody"] == nil {
		return fmt.Errorf("%s %s: the document has no body", method, template)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.validate(servedURL+pointer("paths", template, strings.ToLower(method), "requestBody", "content", "application/json", "schema"), body, present)
}

// present returns a value without members that are null.
func present(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if v[key] = present(member); member == nil {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = present(v[i])
		}
	}
	return v
}

func (d *Document) validate(at string, body []byte, change func(any) any) error {
	schema, err := d.compiler.Compile(at)
	if err != nil {
		return err
	}
	value, err := decode(body)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if err := schema.Validate(change(value)); err != nil {
		return fmt.Errorf("%s: %w\n%.400s", at, err, body)
	}
	return nil
}

func pointer(parts ...string) string {
	b := new(strings.Builder)
	b.WriteString("#")
	for _, part := range parts {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part))
	}
	return b.String()
}

// find returns the operation of a request: that of the template with the longest beginning
// before a parameter.
func (d *Document) find(method, path string) (best string, operation map[string]any) {
	for template, item := range d.root["paths"].(map[string]any) {
		found, _ := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
		if found != nil && fits(template, path) && (operation == nil || strings.Index(template+"{", "{") > strings.Index(best+"{", "{")) {
			best, operation = template, found
		}
	}
	return best, operation
}

// fits reports whether a path is one of a template. The parameter path stands for several
// parts.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	for i, part := range want {
		switch {
		case part == "{path}":
			return len(got) > i
		case i >= len(got):
			return false
		case strings.HasPrefix(part, "{"):
			if got[i] == "" {
				return false
			}
		case part != got[i]:
			return false
		}
	}
	return len(want) == len(got)
}
