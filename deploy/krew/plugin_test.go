// Package krew tests what plugin.sh makes for krew, the plugin manager of kubectl.
package krew

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// plugin is a manifest of krew, as far as writ has one.
type plugin struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Version, Homepage, Description string
		ShortDescription               string `yaml:"shortDescription"`
		Platforms                      []struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			URI, SHA256, Bin string
		}
	}
}

// run packs a release with a binary for each platform and returns its folder.
func run(t *testing.T, version string, platforms ...string) (string, error) {
	t.Helper()
	release := t.TempDir()
	for _, platform := range platforms {
		content := []byte("#!/bin/sh\necho " + platform + "\n")
		if err := os.WriteFile(filepath.Join(release, "writ_"+version+"_"+platform), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("bash", "plugin.sh", release, "https://downloads.example/"+version, version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return release, nil
}

// The manifest has the rules of krew: a version with v, an archive for each platform with
// its hash, and a binary in it that kubectl finds.
func TestPlugin(t *testing.T) {
	platforms := []string{"darwin_arm64", "linux_amd64", "linux_arm64"}
	release, err := run(t, "v1.2.3", platforms...)
	if err != nil {
		t.Fatal(err)
	}
	again, err := run(t, "v1.2.3", platforms...)
	if err != nil {
		t.Fatal(err)
	}
	content := read(t, filepath.Join(release, "writ.yaml"))
	if !bytes.Equal(content, read(t, filepath.Join(again, "writ.yaml"))) {
		t.Error("equal binaries make two manifests")
	}
	var p plugin
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "writ" ||
		!regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(p.Spec.Version) || p.Spec.ShortDescription == "" || len(p.Spec.ShortDescription) > 50 || len(p.Spec.Platforms) != 3 {
		t.Errorf("got %+v", p)
	}
	for i, each := range p.Spec.Platforms {
		platform := each.Selector.MatchLabels["os"] + "_" + each.Selector.MatchLabels["arch"]
		archive := read(t, filepath.Join(release, path.Base(each.URI)))
		if platform != platforms[i] || each.SHA256 != fmt.Sprintf("%x", sha256.Sum256(archive)) || !strings.HasPrefix(each.URI, "https://downloads.example/v1.2.3/") {
			t.Errorf("got %+v", each)
		}
		checkArchive(t, archive, each.Bin, "echo "+platform)
	}
}

func checkArchive(t *testing.T, archive []byte, binary, want string) {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for files := tar.NewReader(compressed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name] = string(content); header.Name == binary && header.Mode&0o111 == 0 {
			t.Errorf("%s cannot be executed", binary)
		}
	}
	if len(found) != 2 || binary != "kubectl-writ" || !strings.Contains(found[binary], want) || found["LICENSE"] == "" {
		t.Errorf("got %v", found)
	}
}

func TestReleasesThatAreRefused(t *testing.T) {
	for _, version := range []string{"1.2.3", "main", "v1.2.3"} { // the last one has no binary
		if _, err := run(t, version); err == nil {
			t.Errorf("%s: got no error", version)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
