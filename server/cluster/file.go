package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/server/decision"
)

// clusterEntry is an entry of the clusters file.
type clusterEntry struct {
	Name string
	// Kubeconfig is a path. If it is empty and InCluster is false, nothing is fetched.
	Kubeconfig string
	Context    string
	InCluster  bool
	Tenant     string
	Labels     map[string]string
	Default    bool
	// Facts are what may be read of the object that a review names.
	Facts decision.Facts
	// Companion states that the API servers of the cluster have the companion of the active
	// revision. Addresses are all of them; empty: the one of the kubeconfig.
	Companion bool
	Addresses []string

	line int
}

// mistake is an error at a line of the file.
type mistake struct {
	line int
	text string
}

func (m *mistake) Error() string { return m.text }

func mistakef(line int, format string, args ...any) error {
	return &mistake{line, fmt.Sprintf(format, args...)}
}

// parse parses a clusters file. Paths are relative to dir. It returns an error with the
// line of the first mistake.
func parse(content []byte, dir string) ([]*clusterEntry, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("the file is empty") // possibly it is being written
	}
	var clusters []*clusterEntry
	err := members(document.Content[0], "the file", func(key string, value *yaml.Node) (bool, error) {
		if key != "clusters" {
			return false, nil
		}
		if value.Kind != yaml.SequenceNode {
			return true, mistakef(value.Line, "clusters must be a list")
		}
		for _, node := range value.Content {
			c, err := parseCluster(node, dir)
			if err != nil {
				return true, err
			}
			clusters = append(clusters, c)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if len(clusters) == 0 {
		return nil, mistakef(document.Content[0].Line, "the file lists no cluster")
	}
	return clusters, checkUnique(clusters)
}

// checkUnique returns an error if a name is repeated, or if there are two defaults.
func checkUnique(clusters []*clusterEntry) error {
	for i, c := range clusters {
		for _, before := range clusters[:i] {
			if before.Name == c.Name {
				return mistakef(c.line, "cluster %q is already on line %d", c.Name, before.line)
			}
			if before.Default && c.Default {
				return mistakef(c.line, "cluster %q is the default, and so is %q; only one is allowed", c.Name, before.Name)
			}
		}
	}
	return nil
}

func parseCluster(node *yaml.Node, dir string) (*clusterEntry, error) {
	c := &clusterEntry{line: node.Line}
	err := members(node, "a cluster", func(key string, value *yaml.Node) (known bool, err error) {
		switch key {
		case "name":
			c.Name, err = readString(key, value)
		case "kubeconfig":
			c.Kubeconfig, err = readString(key, value)
		case "context":
			c.Context, err = readString(key, value)
		case "inCluster":
			c.InCluster, err = readBool(key, value)
		case "tenant":
			c.Tenant, err = readString(key, value)
		case "default":
			c.Default, err = readBool(key, value)
		case "facts":
			c.Facts, err = readFacts(value)
		case "companion":
			c.Companion, err = readBool(key, value)
		case "companionAddresses":
			c.Addresses, err = readAddresses(key, value)
		case "labels":
			c.Labels = map[string]string{}
			err = members(value, "labels", func(name string, label *yaml.Node) (bool, error) {
				word, err := readString("the label "+name, label)
				c.Labels[name] = word
				return true, err
			})
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return nil, err
	case c.Name == "":
		return nil, mistakef(c.line, "a cluster has no name")
	case strings.ContainsRune(c.Name, '/'):
		return nil, mistakef(c.line, "the name %q must not contain a slash: it is a path segment", c.Name)
	case c.Kubeconfig != "" && c.InCluster:
		return nil, mistakef(c.line, "cluster %q has both kubeconfig and inCluster", c.Name)
	case c.Facts != (decision.Facts{}) && c.Kubeconfig == "" && !c.InCluster:
		return nil, mistakef(c.line, "cluster %q has facts, and neither kubeconfig nor inCluster to read them with", c.Name)
	case c.Companion && c.Kubeconfig == "" && !c.InCluster:
		return nil, mistakef(c.line, "cluster %q has a companion, and neither kubeconfig nor inCluster to probe it with", c.Name)
	case len(c.Addresses) > 0 && !c.Companion:
		return nil, mistakef(c.line, "cluster %q has companionAddresses and no companion", c.Name)
	case c.Context != "" && c.Kubeconfig == "":
		return nil, mistakef(c.line, "cluster %q has a context and no kubeconfig", c.Name)
	}
	if c.Kubeconfig != "" && !filepath.IsAbs(c.Kubeconfig) {
		c.Kubeconfig = filepath.Join(dir, c.Kubeconfig)
	}
	return c, nil
}

// members calls take with each key and value of a mapping. take returns whether it
// knows the key. members returns an error for a repeated or unknown key.
func members(node *yaml.Node, what string, take func(key string, value *yaml.Node) (bool, error)) error {
	if node.Kind != yaml.MappingNode {
		return mistakef(node.Line, "%s must be a mapping", what)
	}
	var seen []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if slices.Contains(seen, key.Value) {
			return mistakef(key.Line, "duplicate key %q", key.Value)
		}
		seen = append(seen, key.Value)
		known, err := take(key.Value, value)
		if err != nil {
			return err
		}
		if !known {
			return mistakef(key.Line, "unknown key %q of %s", key.Value, what)
		}
	}
	return nil
}

// readFacts reads a list of "labels" and "node".
func readFacts(node *yaml.Node) (facts decision.Facts, err error) {
	if node.Kind != yaml.SequenceNode {
		return facts, mistakef(node.Line, "facts must be a list")
	}
	for _, element := range node.Content {
		word, err := readString("a fact", element)
		if err != nil {
			return facts, err
		}
		switch word {
		case "labels":
			facts.Labels = true
		case "node":
			facts.Node = true
		default:
			return facts, mistakef(element.Line, "unknown fact %q; there are labels and node", word)
		}
	}
	return facts, nil
}

func readString(key string, node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode || node.Tag != "!!str" {
		return "", mistakef(node.Line, "%s must be a string", key)
	}
	return node.Value, nil
}

func readBool(key string, node *yaml.Node) (bool, error) {
	var b bool
	if node.Kind != yaml.ScalarNode || node.Tag != "!!bool" || node.Decode(&b) != nil {
		return false, mistakef(node.Line, "%s must be true or false", key)
	}
	return b, nil
}
