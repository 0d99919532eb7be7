package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/spf13/cobra"
)

// versions is the data of "version --json".
type versions struct {
	Version     string `json:"version"`
	Revision    string `json:"revision,omitempty"`
	Modified    bool   `json:"modified,omitempty"` // the checkout was not clean
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	KernelABI   string `json:"kernelABI"`
	EventSchema string `json:"eventSchema"`
	StoreSPI    string `json:"storeSPI"`
}

func versionsOf() versions {
	v := versions{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		KernelABI: loom.KernelABI, EventSchema: event.SchemaVersion, StoreSPI: store.Level23.String()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the versions of this program and of its contracts",
		Args:  cobra.NoArgs,
		RunE: verb("", func(*cobra.Command, []string) error {
			v := versionsOf()
			if a.flags.json {
				return a.screen.Emit("version", v)
			}
			a.screen.Printf("loom %s %s\n%s %s\nkernel ABI %s, event schema %s, store SPI %s\n", v.Version, v.Revision, v.Go, v.Platform,
				v.KernelABI, v.EventSchema, v.StoreSPI)
			return nil
		}),
	}
}
