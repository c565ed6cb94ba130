package visibility

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/writ-policy/writ/tests/oracle"
)

// Request is a request at the visibility point. Values are those of JSON,
// numbers as json.Number.
type Request struct {
	User         string         `json:"user"`
	Groups       []string       `json:"groups"`
	Account      ScopeAccount   `json:"serviceAccount"`
	Action       string         `json:"action"`
	Cluster      Cluster        `json:"cluster"`
	Type         string         `json:"type"`
	Items        *[]Item        `json:"items"` // nil for none
	Aggregations map[string]any `json:"aggregations"`
	Metrics      map[string]any `json:"metrics"` // nil for none
	// Now is the engine's clock, no part of the request.
	Now time.Time `json:"-"`
}

// ScopeAccount is the service account of a request.
type ScopeAccount struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Cluster is the cluster of a request.
type Cluster struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

// Item is one item of a list.
type Item struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Fields    map[string]any    `json:"fields,omitempty"`
}

// ReadRequest reads a valid request.
func ReadRequest(text []byte) (Request, error) {
	var r Request
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&r)
	return r, err
}

// JSON is the request as every canonical endpoint takes it. What is empty is left
// out, where that means the same.
func (r Request) JSON() string {
	var out bytes.Buffer
	out.WriteString(`{"type":`)
	oracle.Put(&out, r.Type)
	field := func(key string, value any, known bool) {
		if known {
			out.WriteString(`,"` + key + `":`)
			oracle.Put(&out, value)
		}
	}
	field("user", r.User, r.User != "")
	field("groups", r.Groups, r.Groups != nil)
	field("serviceAccount", r.Account, r.Account != ScopeAccount{})
	field("action", r.Action, r.Action != "")
	field("cluster", r.Cluster, r.Cluster.Name != "" || r.Cluster.Labels != nil)
	if r.Items != nil {
		field("items", *r.Items, true)
	}
	field("aggregations", r.Aggregations, r.Aggregations != nil)
	field("metrics", r.Metrics, r.Metrics != nil)
	out.WriteByte('}')
	return out.String()
}

func (r Request) action() string {
	if r.Action == "" {
		return "view"
	}
	return r.Action
}

// standard reports whether the request is of the cluster itself or a standard type.
func (r Request) standard() bool { return r.Type == "" || standardType(r.Type) }

func standardType(name string) bool {
	return slices.Contains([]string{"nodes", "namespaces", "operators", "pods", "alerts", "events"}, name)
}

// identities are the names the principal has beside its groups.
func (r Request) identities() []string {
	var names []string
	if r.User != "" {
		names = append(names, r.User)
	}
	if r.Account.Namespace != "" && r.Account.Name != "" {
		names = append(names, accountName(r.Account.Namespace, r.Account.Name))
	}
	return names
}

func accountName(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}
