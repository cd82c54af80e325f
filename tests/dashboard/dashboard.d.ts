// What a dashboard may hold, from the types that Grafana publishes (@grafana/schema), of each kind of panel that ours has.

import type { Dashboard, Panel, RowPanel } from "@grafana/schema";
import type * as bargauge from "@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen";
import type * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

// JSON has the values of enums and not their names; and what is left out has its default.
type Json<T> = T extends string
  ? `${T}`
  : T extends number
    ? number
    : T extends (infer Item)[]
      ? Json<Item>[]
      : T extends object
        ? { [Key in keyof T]?: Json<T[Key]> }
        : T;

type Fields = NonNullable<Panel["fieldConfig"]>;
type Of<Type, Options, Custom> = Json<Omit<Panel, "type" | "options" | "fieldConfig">> & {
  type: Type;
  title: string;
  options?: Json<Options>;
  fieldConfig?: Json<Omit<Fields, "defaults">> & { defaults: Json<Omit<Fields["defaults"], "custom"> & { custom: Custom }> };
};

export type Ours = Json<Omit<Dashboard, "panels">> & {
  uid: string;
  title: string;
  panels: (
    | Of<"bargauge", bargauge.Options, never>
    | Of<"stat", stat.Options, never>
    | Of<"timeseries", timeseries.Options, timeseries.FieldConfig>
    | (Json<RowPanel> & { type: "row" })
  )[];
};
