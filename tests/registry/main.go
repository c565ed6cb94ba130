// Command registry is the OCI registry of the tests: that of the project distribution, with
// a folder as its storage.
//
//	registry ADDRESS FOLDER
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want ADDRESS and FOLDER", len(args))
	}
	config := &configuration.Configuration{Version: configuration.CurrentVersion}
	config.Storage = configuration.Storage{"filesystem": configuration.Parameters{"rootdirectory": args[1]}, "delete": {"enabled": true}}
	config.HTTP.Addr = args[0]
	config.Log.Level, config.Log.AccessLog.Disabled = "error", true
	r, err := registry.NewRegistry(context.Background(), config)
	if err != nil {
		return err
	}
	return r.ListenAndServe()
}
