// A small network of PyTorch modules: results, loss and gradients in f64; bounds of
// initial values. Made by tests/golden/nn.py with PyTorch 1.13.0a0.
#pragma once

namespace ingot::golden {

inline constexpr double kLogits[] = {
    0x1.2e1fdac20d5a4p-1, 0x1.bfc8198e47721p-3, 0x1.011d61d38807ep-1, 0x1.2e63e8aafe8f9p-1,
    0x1.ba965847aee72p-3, 0x1.014d830c00a4ep-1, 0x1.2564315e5b1fdp-1, 0x1.2ec8645de0e68p-2,
    0x1.f95cd1184e28dp-2, 0x1.26ee3e63f96f6p-1, 0x1.2803066f295bcp-2, 0x1.f3952d674f903p-2,
    0x1.2e1fdac20d5a4p-1, 0x1.bfc8198e47721p-3, 0x1.011d61d38807ep-1, 0x1.2e1fdac20d5a4p-1,
    0x1.bfc8198e47721p-3, 0x1.011d61d38807ep-1,
};

inline constexpr double kLoss = 0x1.b7e519d6c43b0p+0;

inline constexpr double kGrad0[] = {
    0x1.eb5ec01e30478p-11,
    -0x1.045e0ffe031b1p-14,
    0x1.54fc7fe515221p-12,
    -0x1.045e0ffe031aap-14,
    -0x1.0332fd784d80dp-10,
    0x1.eb5ec01e30479p-11,
    -0x1.84b070626823cp-12,
    0x1.13dde88c7553cp-11,
    0x1.804a1b4770f8ep-9,
    0x1.13dde88c75539p-11,
    -0x1.6ca33cbbd2df2p-11,
    -0x1.84b070626823ep-12,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    -0x1.7e5bc44357af7p-11,
    0x1.2a8e7153520a9p-11,
    0x1.05ecf9ed8fdc5p-9,
    0x1.2a8e7153520abp-11,
    -0x1.8521cf233ea33p-12,
    -0x1.7e5bc44357af6p-11,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x0.0p+0,
    0x1.4de86005c9a32p-11,
    0x1.17d31f217af49p-10,
    0x1.410bc4dc9da46p-9,
    0x1.17d31f217af46p-10,
    -0x1.8f44183a4a8c8p-9,
    0x1.4de86005c9a30p-11,
};

inline constexpr double kGrad1[] = {
    -0x1.a5ec055f7502ap-12, 0x1.5f9a74e07804ap-13,  0x1.44ca20f2e5a2fp-10,  0x1.9955472c3256dp-9,
    -0x1.d886dbe17f72cp-10, -0x1.7f60131551a0cp-11, -0x1.a6861865b53d4p-12, 0x1.0440f8e7dabdcp-12,
    -0x1.762b0a40c1234p-11, -0x1.c2d40734b1df6p-11, 0x1.02b714c781198p-10,  0x1.a4545b4a761c4p-16,
    -0x1.8ca076a94a45ap-13, -0x1.92f26a95a6b12p-12, 0x1.36cc1595e95d4p-10,  -0x1.28dba4a7adde0p-17,
    -0x1.4cb264704bc40p-11, 0x1.ea5efc065a4f1p-11,  -0x1.4b3eb50b85a62p-13, 0x1.a8f9aae7d2d98p-11,
    -0x1.3fa1a6b256c2bp-9,  -0x1.c1dcc27301110p-11, 0x1.f819a49230106p-10,  -0x1.5ba67e4666e1ep-10,
    0x1.2e186ce7e48ddp-10,  -0x1.b9878f490ae15p-11, 0x1.7d8537f87e2dcp-11,  -0x1.6e00723b3bd9fp-10,
    -0x1.efc2ad002f547p-12, 0x1.1f95b860b8b26p-10,
};

inline constexpr double kGrad2[] = {
    -0x1.023d153ec739ap-7, 0x1.834dad1b14d42p-9,  -0x1.06725e4af0d6cp-10,
    0x1.239ccf1e46a38p-8,  0x1.834c7191e66e0p-10,
};

inline constexpr double kGrad3[] = {
    -0x1.70cb3e0752426p-7, 0x1.23f7bd3458889p-12, 0x1.eeef5366cef11p-7,
    0x1.6ab9b42eb46d9p-13, -0x1.69c6158554c25p-8,
};

inline constexpr double kGrad4[] = {
    -0x1.e1aaaeaedbddfp-6, 0x1.25a7a1ceaf58cp-11, -0x1.90974a4c97398p-10,
    0x1.1c32166088074p-9,  0x1.b3b25d0df9eacp-9,
};

inline constexpr double kGrad5[] = {
    0x1.4e23e6d45cfebp-7, -0x1.668c367f5d281p-9, 0x1.1278787182ed6p-8, -0x1.e92b3a92728dap-10,
    0x1.797d8bbd99dbbp-8, -0x1.f51858e622b78p-7, 0x1.b0661b5b6b2b7p-9, -0x1.40207b8d28ae6p-8,
    0x1.354ff570ed4bcp-8, -0x1.2bc124779c48ep-8, 0x1.1085963b00655p-7, -0x1.5bde66f319f81p-9,
    0x1.081428ece4830p-8, -0x1.d3ac7100978aap-9, 0x1.3bfd52d214be4p-8, -0x1.a187d65092ce6p-6,
    0x1.2f3d2ce498b74p-8, -0x1.c1df7e7591cf2p-8, 0x1.0087c87479d77p-8, -0x1.d76837caaa10fp-8,
};

inline constexpr double kGrad6[] = {
    -0x1.a3b2065a050d6p-7, -0x1.d1448cb6e8a3ep-7, -0x1.e7d3e93b2f042p-7, 0x1.955cbe76c62d0p-6,
    -0x1.23e49e851f04cp-9, -0x1.3edd9c3384d0bp-8, -0x1.cc77dbd5b74b6p-8, 0x1.92ddd41114583p-6,
    0x1.e8cc52528f2c6p-7,  0x1.322446af561eap-6,  0x1.5e4a38ca9dacbp-6,  -0x1.012a2934525d0p-4,
};

inline constexpr double kGrad7[] = {
    0x1.62624c19dfe17p-7,
    0x1.95ad5ff76bb3fp-5,
    -0x1.454f7973bb7d5p-4,
};

struct LinearBounds {
  int in;
  double weight, bias;  // largest magnitudes
};
inline constexpr LinearBounds kLinearBounds[] = {
    {1, 0x1.fffffffffffffp-1, 0x1.0000000000000p+0},
    {7, 0x1.83091e6a7f7e5p-2, 0x1.83091e6a7f7e6p-2},
    {784, 0x1.2492492492492p-5, 0x1.2492492492492p-5},
};

}  // namespace ingot::golden
