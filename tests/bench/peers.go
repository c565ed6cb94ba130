package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/tables"
)

// addressWord is replaced by the address of a server in its command.
const addressWord = "ADDRESS"

// peer is a server that answers the same requests.
type peer struct {
	name    string
	command []string
	ready   string   // the path that answers when it is ready
	bodies  [][]byte // requests as they are sent
	goal    string   // of the ratio to the floor, if there is one
	// decisions is how many decisions one request asks for.
	decisions int
	// most is the largest number of bindings for which it is measured; zero: any.
	most int
}

// batchSize is how many decisions a request to the batch endpoint asks for.
const batchSize = 100

// reviewPeers are the servers that decide about the roles and bindings of w: floors, writ
// and what else can decide by them. Those whose program is not given are left out.
func reviewPeers(w *world, bundle *bundles.Bundle, o options) ([]peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	repeatedRequests, many := w.requests(repeated), w.requests(o.requests)
	reviews := reviewBodies(repeatedRequests)
	serve := []string{o.writ, "serve", "--policies", w.dir, "--log-level", "error", "--listen", addressWord}
	peers := []peer{
		{name: "floor: net/http that reads the body", command: []string{self, "-floor", addressWord}, bodies: rawBodies("/plain", plainOf(repeatedRequests))},
		{name: "floor: gin that decodes a review", command: []string{self, "-floor", addressWord}, bodies: reviews},
		{name: "writ, cached", goal: goalReview, command: serve, bodies: reviews},
		{name: "writ, uncached", goal: goalUncached, command: append(slices.Clip(serve), "--cache-entries", "0"), bodies: reviewBodies(many)},
		{name: "writ, cached, batches of 100", command: serve, bodies: batchBodies(repeatedRequests), decisions: batchSize},
	}
	if o.kubernetes != "" {
		peers = append(peers, peer{
			name: "net/http and Kubernetes' RBAC authorizer", bodies: reviewBodies(many),
			command: []string{o.kubernetes, "-policies", w.dir, "-listen", addressWord},
		})
	}
	if o.opa != "" {
		opa, err := opaPeers(w, bundle, o)
		if err != nil {
			return nil, err
		}
		peers = append(peers, opa...)
	}
	return peers, nil
}

// opaPeers are stock OPA with the bundle of writ, and with a policy as textbooks write it:
// it goes through all bindings.
func opaPeers(w *world, bundle *bundles.Bundle, o options) ([]peer, error) {
	built, textbook := filepath.Join(w.scratch, "bundle.tar.gz"), filepath.Join(w.scratch, "textbook")
	f, err := os.Create(built)
	if err != nil {
		return nil, err
	}
	if err := bundle.WriteTar(f); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := writeTextbook(textbook, tables.Of[*tables.Access](bundle.Tables)); err != nil {
		return nil, err
	}
	var inputs [][]byte
	for _, r := range w.requests(o.requests) {
		inputs = append(inputs, fmt.Appendf(nil, `{"input":%s}`, r.Encode()))
	}
	run := []string{o.opa, "run", "--server", "--log-level", "error", "--skip-version-check", "--addr", addressWord}
	return []peer{
		{
			name: "opa run --server, bundle of writ", command: append(slices.Clip(run), "--bundle", built), ready: "/health?bundles",
			bodies: rawBodies("/v1/data/writ/access/decision", inputs), most: 10_000,
		},
		{
			name: "opa run --server, textbook policy", command: append(slices.Clip(run), textbook), ready: "/health",
			bodies: rawBodies("/v1/data/textbook/allow", inputs), most: 10_000,
		},
	}, nil
}

const textbookPolicy = `package textbook

default allow := false

allow if {
	some binding in data.bindings
	some subject in binding.subjects
	is_requester(subject)
	binding.namespace in {"", input.namespace}
	some rule in data.roles[binding.role]
	contains_or_all(rule.verbs, input.verb)
	contains_or_all(rule.groups, object.get(input, "apiGroup", ""))
	contains_or_all(rule.resources, input.resource)
}

is_requester(subject) if subject == sprintf("user:%s", [input.user])

is_requester(subject) if {
	some group in input.groups
	subject == sprintf("group:%s", [group])
}

contains_or_all(list, value) if value in list

contains_or_all(list, _) if "*" in list
`

// writeTextbook writes the policy, and the roles and bindings as data.
func writeTextbook(dir string, access *tables.Access) error {
	type binding struct {
		Namespace string   `json:"namespace"`
		Role      string   `json:"role"`
		Subjects  []string `json:"subjects"`
	}
	bound := make(map[string]*binding)
	for key, b := range access.Bindings.All() {
		bound[key] = &binding{Namespace: b.Namespace, Role: b.Role}
	}
	add := func(subjects tables.Map[[]string]) {
		for subject, keys := range subjects.All() {
			for _, key := range *keys {
				bound[key].Subjects = append(bound[key].Subjects, subject)
			}
		}
	}
	add(access.Subjects.Cluster)
	for _, subjects := range access.Subjects.Namespaces.All() {
		add(*subjects)
	}
	roles := make(map[string]any)
	for key, role := range access.Roles.All() {
		roles[key] = role.Kubernetes
	}
	list := make([]*binding, 0, len(bound))
	for _, b := range bound {
		list = append(list, b)
	}
	data, err := json.Marshal(map[string]any{"roles": roles, "bindings": list})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "textbook.rego"), []byte(textbookPolicy), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "data.json"), data, 0o644)
}

// withAddress returns a command with the address in the place of addressWord.
func withAddress(command []string, address string) []string {
	out := make([]string, len(command))
	for i, word := range command {
		out[i] = strings.ReplaceAll(word, addressWord, address)
	}
	return out
}
