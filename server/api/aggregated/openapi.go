package aggregated

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/openapi"
)

type members = map[string]any

// kinds is how OpenAPI documents of Kubernetes name a kind.
func kinds(kind string) members {
	return members{"group": group, "version": version, "kind": kind}
}

const schemaPrefix = "dev.writ.access.v1."

// schemas are those of the objects. Metadata is not described again: an API server that puts
// the documents of several servers together has its own schema of that name.
func schemas() members {
	text := func(description string) members { return members{"type": "string", "description": description} }
	about := func(description string) members { return members{"type": "object", "description": description} }
	of := func(kind, description string, properties members) members {
		properties["apiVersion"], properties["kind"] = text("The version of the schema."), text("The kind of the object.")
		return members{"type": "object", "description": description, "properties": properties, "x-kubernetes-group-version-kind": []any{kinds(kind)}}
	}
	return members{
		schemaPrefix + kind: of(kind, "A namespace in which the user may do what access states.", members{
			"metadata": about("The name, labels and creation time of the namespace."),
			"access": members{"type": "object", "description": "What the user may do in the namespace.", "properties": members{
				"names":    members{"description": "The names of objects: \"*\" for all, a list, or a condition in UCAST."},
				"verb":     text("The verb of the question."),
				"resource": text("The resource of the question."),
				"apiGroup": text("The API group of the resource."),
			}},
		}),
		schemaPrefix + kind + "List": of(kind+"List", "The namespaces that the user may reach.", members{
			"metadata": about("The resourceVersion, and the token of the next page."),
			"items":    members{"type": "array", "items": members{"$ref": "#/REF/" + schemaPrefix + kind}},
		}),
	}
}

// parameters are those of lists: name, type and description.
var parameters = [][3]string{
	{"fieldSelector", "string", "verb, resource and apiGroup ask another question than \"get namespaces\"; metadata.name asks about one namespace."},
	{"labelSelector", "string", "Selects by the labels of namespaces."},
	{"limit", "integer", "The number of objects of a page."},
	{"continue", "string", "The token of the next page."},
	{"watch", "boolean", "Send changes."},
	{"resourceVersion", "string", "The list that changes follow."},
	{"resourceVersionMatch", "string", "NotOlderThan, with sendInitialEvents."},
	{"sendInitialEvents", "boolean", "Begin with an event for each object."},
	{"allowWatchBookmarks", "boolean", "Send bookmarks."},
	{"timeoutSeconds", "integer", "How long a watch lasts."},
}

// Parameters are the parameters of lists, for the document of all endpoints of the listener.
func Parameters() (out []openapi.Parameter) {
	for _, p := range parameters {
		out = append(out, openapi.Parameter{Name: p[0], Description: p[2]})
	}
	return out
}

// document puts schemas and paths into a document. typed wraps a type as the version of
// OpenAPI does in parameters, and answer the schema of an answer.
func document(typed func(string) members, answer func(schema members) members) members {
	operation := func(action, id, result string, of ...any) members {
		return members{"get": members{
			"operationId": id, "parameters": of, "tags": []any{"access_v1"}, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kinds(kind),
			"responses": members{"200": answer(members{"$ref": "#/REF/" + schemaPrefix + result}), "401": members{"description": "Unauthorized"}},
		}}
	}
	var query []any
	for _, p := range parameters {
		of := typed(p[1])
		of["name"], of["in"], of["description"] = p[0], "query", p[2]
		query = append(query, of)
	}
	name := typed("string")
	name["name"], name["in"], name["required"], name["description"] = "name", "path", true, "The name of the namespace."
	return members{
		"info": members{"title": "writ", "version": version},
		"paths": members{
			ResourcePath:             operation("list", "listAccessV1AccessibleNamespace", kind+"List", query...),
			ResourcePath + "/{name}": operation("get", "readAccessV1AccessibleNamespace", kind, name),
		},
	}
}

// openAPI3 is the document of OpenAPI 3.0.
func openAPI3() json.RawMessage {
	d := document(
		func(name string) members { return members{"schema": members{"type": name}} },
		func(schema members) members {
			return members{"description": "OK", "content": members{"application/json": members{"schema": schema}}}
		})
	d["openapi"], d["components"] = "3.0.0", members{"schemas": schemas()}
	return referring(d, "components/schemas")
}

// openAPI2 is the document of OpenAPI 2.0.
func openAPI2() json.RawMessage {
	d := document(
		func(name string) members { return members{"type": name} },
		func(schema members) members { return members{"description": "OK", "schema": schema} })
	d["swagger"], d["definitions"] = "2.0", schemas()
	d["produces"] = []any{"application/json"}
	return referring(d, "definitions")
}

// referring encodes a document whose references name the place of its schemas.
func referring(d members, place string) json.RawMessage {
	var refer func(any) any
	refer = func(value any) any {
		switch v := value.(type) {
		case members:
			for key, member := range v {
				if text, ok := member.(string); ok && key == "$ref" {
					v[key] = "#/" + place + text[len("#/REF"):]
					continue
				}
				v[key] = refer(member)
			}
		case []any:
			for i := range v {
				v[i] = refer(v[i])
			}
		}
		return value
	}
	return jsontext.Marshal(refer(d))
}

func schemaHash() string {
	sum := sha256.Sum256(openAPI3())
	return hex.EncodeToString(sum[:])
}
