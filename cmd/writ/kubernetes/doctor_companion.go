package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/cluster"
)

// printed is what a folder of writ kubernetes admission has.
type printed struct {
	digest   string
	slices   int
	isStatic bool
}

// examineCompanion checks that every API server refuses the probe of each slice of the printed
// companion, with its digest.
func (e *examination) examineCompanion(ctx context.Context) {
	passed := e.begin("companion files")
	files, err := readPrinted(e.Companion)
	if err != nil {
		e.fail(e.Companion, "print them with writ kubernetes admission -o FOLDER, and name that folder", "%v", err)
		return
	}
	passed(e.Companion, "the files are of companion %.12s", files.digest)
	c, err := cluster.Connect(e.Kubeconfig, e.Context, e.Timeout)
	if err != nil {
		e.fail("", "name a kubeconfig with --kubeconfig", "%v", err)
		return
	}
	addresses := e.Addresses
	if len(addresses) == 0 {
		addresses = []string{c.Server}
	}
	for _, address := range addresses {
		at, err := addressOf(address, c.Server)
		if err != nil {
			e.begin("companion")
			e.fail(address, "write HOST:PORT or a URL", "the address cannot be read")
			continue
		}
		passed := e.begin("companion")
		for slice := range files.slices {
			e.probe(ctx, c, at, slice+1, files.digest)
		}
		passed(at, "companion %.12s is in force", files.digest)
		if files.isStatic {
			e.examineGate(ctx, c, at)
		}
	}
}

// addressOf returns the URL of an API server, whose scheme is that of the kubeconfig unless it
// has one.
func addressOf(address, server string) (string, error) {
	if !strings.Contains(address, "://") {
		u, err := url.Parse(server)
		if err != nil {
			return "", err
		}
		address = u.Scheme + "://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", errors.New("no host")
	}
	return strings.TrimRight(address, "/"), nil
}

// readPrinted reads a folder of writ kubernetes admission. It returns an error if a slice is
// missing, or if a slice is of another companion.
func readPrinted(folder string) (*printed, error) {
	files := &printed{}
	if _, err := os.Stat(filepath.Join(folder, "admission.yaml")); err == nil {
		files.isStatic, folder = true, filepath.Join(folder, staticPolicies)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		objects := yaml.NewDecoder(bytes.NewReader(content))
		for {
			var o Object
			if err := objects.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", entry.Name(), err)
			}
			if files.isStatic && (o.APIVersion != admissionVersion || !strings.HasSuffix(o.Metadata.Name, companion.StaticSuffix)) {
				return nil, fmt.Errorf("%s: an API server does not start with %s %q in this folder", entry.Name(), o.Kind, o.Metadata.Name)
			}
			digest := companion.DigestOf(o.Metadata.Annotations)
			if digest == "" {
				continue
			}
			if files.digest != "" && files.digest != digest {
				return nil, fmt.Errorf("%s: the slices are of different companions", entry.Name())
			}
			files.digest = digest
			files.slices++
		}
	}
	if files.digest == "" {
		return nil, errors.New("the folder has no companion")
	}
	return files, nil
}

// probe asks an API server to refuse the probe of one slice.
func (e *examination) probe(ctx context.Context, c *cluster.Connection, at string, slice int, digest string) {
	const hint = "kubectl apply -f " // what the folder has
	body := jsontext.Marshal(companion.Probe(e.ProbeNamespace, slice))
	address := at + "/api/v1/namespaces/" + url.PathEscape(e.ProbeNamespace) + "/configmaps?dryRun=All"
	content, response, err := send(ctx, c, http.MethodPost, address, body)
	if err != nil {
		e.fail(at, "check the address, and that the certificate of the API server names it", "the API server does not answer: %v", err)
		return
	}
	var status struct{ Message string }
	_ = json.Unmarshal(content, &status) // another answer has no message
	found := companion.ProbeDigest(status.Message, slice)
	switch {
	case found == digest:
	case found != "":
		e.fail(at, hint+e.Companion, "slice %d in force is of companion %.12s, not %.12s", slice, found, digest)
	case response.StatusCode == http.StatusCreated:
		e.fail(at, hint+e.Companion+", and wait until the API server has read it", "slice %d is not in force: the probe passes", slice)
	case response.StatusCode == http.StatusNotFound:
		e.fail(at, "name a namespace that exists with --probe-namespace", "namespace %q does not exist", e.ProbeNamespace)
	default:
		e.fail(at, "the user of the kubeconfig needs create on configmaps in namespace "+e.ProbeNamespace,
			"whether slice %d is in force is not known: the probe is answered with %s, not by the companion", slice, response.Status)
	}
}

// staticGate is the feature gate of static manifests.
const staticGate = "ManifestBasedAdmissionControlConfig"

var enabledFeature = regexp.MustCompile(`(?m)^kubernetes_feature_enabled\{[^}]*\bname="` + staticGate + `"[^}]*\} ([01])$`)

// examineGate checks that an API server reads static manifests.
func (e *examination) examineGate(ctx context.Context, c *cluster.Connection, at string) {
	passed := e.begin("feature gate")
	content, response, err := send(ctx, c, http.MethodGet, at+"/metrics", nil)
	if err != nil || response.StatusCode != http.StatusOK {
		e.warn(at, "use a kubeconfig of an administrator", "the metrics of the API server cannot be read: %s", failure(response, err))
		return
	}
	switch found := enabledFeature.FindSubmatch(content); {
	case found == nil:
		e.fail(at, "use 1.37 or later", "the API server does not know the feature gate %s", staticGate)
	case string(found[1]) != "1":
		e.fail(at, "start it with --feature-gates="+staticGate+"=true", "the feature gate %s is off", staticGate)
	}
	passed(at, "the API server reads static manifests")
}
