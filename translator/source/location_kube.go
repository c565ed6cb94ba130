package source

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// KubeLocation is the documents of a cluster. The zero value is all documents of the
// cluster of the current context.
type KubeLocation struct {
	// Context is a context of the kubeconfig; empty means the current one.
	Context string
	// InCluster means the cluster in which the process runs, by its service account.
	InCluster bool
	// Namespace narrows kinds with namespaces to one; empty means all.
	Namespace string
	// Kinds narrow the kinds, as KIND or KIND.GROUP, sorted; empty means all.
	Kinds []string
}

// inCluster is the context of the cluster in which the process runs.
const inCluster = "in-cluster"

// parseKube parses what follows the prefix of a cluster.
func parseKube(text string) (*KubeLocation, error) {
	k := &KubeLocation{}
	// Names of contexts may have any character; the parameters follow the last "?".
	query := ""
	if at := strings.LastIndexByte(text, '?'); at >= 0 {
		text, query = text[:at], text[at+1:]
	}
	if k.Context = text; text == inCluster {
		k.Context, k.InCluster = "", true
	}
	if !IsPrintable(text) {
		return nil, errors.New("the context of a cluster must be printable")
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the parameters of a cluster must have the form ?namespace=NAMESPACE&kinds=KIND,KIND")
	}
	for key, values := range parameters {
		if len(values) != 1 || values[0] == "" || key != "namespace" && key != "kinds" {
			return nil, fmt.Errorf("unknown, empty or repeated parameter %q: a cluster takes namespace and kinds", key)
		}
	}
	if k.Namespace = parameters.Get("namespace"); k.Namespace != "" {
		if problems := content.IsDNS1123Label(k.Namespace); len(problems) > 0 {
			return nil, fmt.Errorf("namespace %q: %s", k.Namespace, problems[0])
		}
	}
	if kinds := parameters.Get("kinds"); kinds != "" {
		k.Kinds = strings.Split(kinds, ",")
		slices.Sort(k.Kinds)
		if k.Kinds = slices.Compact(k.Kinds); k.Kinds[0] == "" {
			return nil, errors.New("kinds must be a list of kinds separated by commas")
		}
	}
	return k, nil
}

// String returns the location in the form of ParseLocation.
func (k *KubeLocation) String() string {
	text := diag.ObjectPrefix + k.Context
	if k.InCluster {
		text += inCluster
	}
	var parameters []string
	if k.Namespace != "" {
		parameters = append(parameters, "namespace="+k.Namespace)
	}
	if len(k.Kinds) > 0 {
		parameters = append(parameters, "kinds="+strings.Join(k.Kinds, ","))
	}
	if len(parameters) > 0 {
		text += "?" + strings.Join(parameters, "&")
	}
	return text
}
