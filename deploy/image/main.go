// Command image puts binaries of writ into an OCI image, without a container daemon and
// without a base image: equal binaries make an equal image, wherever it is made.
//
//	image -version v1.2.3 [-o FOLDER] [-push REGISTRY/REPOSITORY:TAG] linux/amd64=PATH...
//
// The image holds the binary, a user without privileges and an empty directory for state.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "`version` of the binaries")
	commit := flags.String("commit", "", "`commit` of the binaries")
	folder := flags.String("o", "", "`folder` to write an OCI layout into")
	push := flags.String("push", "", "`reference` to push to, with the credentials of docker login")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *version == "" || *folder == "" && *push == "" {
		return errors.New("-version, -o or -push, and a binary for each platform are required: linux/amd64=PATH")
	}
	index, err := makeIndex(flags.Args(), *version, *commit)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(digest)
	if *folder != "" {
		if err := writeLayout(*folder, index); err != nil {
			return err
		}
	}
	if *push != "" {
		reference, err := name.ParseReference(*push)
		if err != nil {
			return err
		}
		return remote.WriteIndex(reference, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
	}
	return nil
}

// writeLayout replaces the folder, which is empty or a layout.
func writeLayout(folder string, index v1.ImageIndex) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	isLayout := func(entry fs.DirEntry) bool { return entry.Name() == "oci-layout" }
	if len(entries) > 0 && !slices.ContainsFunc(entries, isLayout) {
		return fmt.Errorf("%s: exists and is not an OCI layout", folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return at.AppendIndex(index)
}

// platformOf splits "linux/amd64=PATH".
func platformOf(arg string) (v1.Platform, string, error) {
	text, path, found := strings.Cut(arg, "=")
	system, architecture, slash := strings.Cut(text, "/")
	if !found || !slash || system != "linux" || architecture == "" || path == "" {
		return v1.Platform{}, "", fmt.Errorf("%q: must be linux/ARCHITECTURE=PATH", arg)
	}
	return v1.Platform{OS: system, Architecture: architecture}, path, nil
}
