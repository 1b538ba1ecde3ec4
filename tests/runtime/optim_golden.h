// Parameters after ten steps of PyTorch's optimisers, in f64.
// Made by tests/golden/optim.py with PyTorch 1.13.0a0; the test repeats its steps.
#pragma once

namespace ingot::golden {

inline constexpr double kSgd[] = {
    -0x1.8000000000000p-1, -0x1.9999999999995p-7, 0x1.9666666666667p-1,  -0x1.2666666666665p-2,
    0x1.ccccccccccccdp-2,  -0x1.b333333333335p-2, 0x1.f333333333334p-3,  -0x1.accccccccccccp-1,
    0x1.3333333333334p-5,  0x1.8cccccccccccdp-1,  -0x1.e666666666664p-3, 0x1.0000000000000p-1,
    -0x1.2666666666668p-1, 0x1.4666666666666p-2,  -0x1.a000000000000p-1, 0x1.9999999999998p-7,
    0x1.accccccccccccp-1,
};

inline constexpr double kSgdDecay[] = {
    -0x1.710e0e4487697p-1, -0x1.b671917403e1cp-7, 0x1.86d1c6307e293p-1,  -0x1.1994b599986cep-2,
    0x1.b8c48d66e97ecp-2,  -0x1.a157933ff8d1fp-2, 0x1.e0fd75031093bp-3,  -0x1.9c7c2978a6e98p-1,
    0x1.2377eb1aff670p-5,  0x1.7d7615395bcabp-1,  -0x1.d0fcf8df8d6bbp-3, 0x1.eb97bd65fcbaep-2,
    -0x1.1d5c631519b89p-1, 0x1.3c3605416154fp-2,  -0x1.91615f97f56a6p-1, 0x1.7bbf486ca25d0p-7,
    0x1.9e7699ed93af5p-1,
};

inline constexpr double kSgdMomentum[] = {
    -0x1.7fa5ace86faf5p-1, 0x1.b0e7516f74b27p-4,  0x1.ea52d3cb3966fp-1,  -0x1.4c5ee806ed8dap-1,
    0x1.b91c992317ab2p-2,  -0x1.4504f93e01dedp-3, 0x1.379d5be09a6cep-3,  -0x1.26df6475a06b1p+0,
    0x1.08d044a4f7502p-2,  0x1.abfc6f0dc1ef1p-1,  -0x1.208aad71f2f48p-2, 0x1.005a53179050bp-1,
    -0x1.4c817104e1218p-1, 0x1.15a38fa2dbf3dp-1,  -0x1.31bd89fa95320p+0, 0x1.3487c5af7fbd8p-3,
    0x1.1b1cb6e34de50p+0,
};

inline constexpr double kSgdDampening[] = {
    -0x1.5f8620d47e030p-1, 0x1.bba86450ac93ap-6,  0x1.c4372c5c315a4p-1,  -0x1.090705724dc6bp-1,
    0x1.b1698e440197cp-2,  -0x1.0c049dc0d8acap-2, 0x1.3dca933b4100dp-3,  -0x1.ed3d0901faf60p-1,
    0x1.7183c095d1640p-3,  0x1.81f155f22ae7ap-1,  -0x1.e973e169da22bp-3, 0x1.1482881a0edc5p-1,
    -0x1.3b5eadf3e80c9p-1, 0x1.c819d53965d42p-2,  -0x1.0bb631bffdb22p+0, 0x1.246819d1ef7e5p-4,
    0x1.f61e62ce48ce0p-1,
};

inline constexpr double kSgdNesterov[] = {
    -0x1.73be73a3051f8p-1, 0x1.499718371635bp-4,  0x1.e7cf6999f88f7p-1,  -0x1.42b97d3f3f3d1p-1,
    0x1.7a93d693f8a8cp-2,  -0x1.b3218d9225bccp-4, 0x1.34f0939bdf19dp-3,  -0x1.2ae0afb726046p+0,
    0x1.0e6050ed61435p-2,  0x1.a733ec88c1d1fp-1,  -0x1.05d4eb340114ep-2, 0x1.ec9652adbb5c0p-2,
    -0x1.63b707d6c2cc5p-1, 0x1.24e32fdc1c51ap-1,  -0x1.2f39388cefab1p+0, 0x1.2aa4161ee9e6ap-3,
    0x1.21bcb0558d928p+0,
};

inline constexpr double kAdam[] = {
    -0x1.64d01e1452ba0p-1, 0x1.848304812ab0dp-7,  0x1.b24b08efb4963p-1,  -0x1.b0506f04c8a44p-2,
    0x1.dbebbb4bde65bp-2,  -0x1.5e26b540f43cbp-2, 0x1.49f35f83d6270p-3,  -0x1.cc3c5e99995b9p-1,
    0x1.218bef24e9671p-3,  0x1.778e763265590p-1,  -0x1.f65d2a5f30250p-3, 0x1.1b2fe1ebad460p-1,
    -0x1.2236f2c428e7bp-1, 0x1.8425dad37b89dp-2,  -0x1.de827d33b7116p-1, 0x1.f42d11e829fdep-6,
    0x1.d1a351bc22387p-1,
};

inline constexpr double kAdamDecay[] = {
    -0x1.530588f0df54fp-1, 0x1.fb6fe1aba8abbp-8,  0x1.8b7bdfddbbc49p-1,  -0x1.8064a8d4a2cdcp-2,
    0x1.acc8518ac528ap-2,  -0x1.4a4c185d77e80p-2, 0x1.508fa6eb9a5efp-3,  -0x1.8f63d0f3bf9eep-1,
    0x1.d5e47b8f02c20p-4,  0x1.5c1a8d7c25bd0p-1,  -0x1.b7daf5f0aa0d5p-3, 0x1.fed2c5ddfd7f0p-2,
    -0x1.103a7c9ad776ep-1, 0x1.6c627cbd6c45ap-2,  -0x1.bd5414d264954p-1, 0x1.80a594e9e247ap-6,
    0x1.b1c61285c9b2ap-1,
};

inline constexpr double kAdamW[] = {
    -0x1.636678d2c71d4p-1, 0x1.85427661a2729p-7,  0x1.b0a6823c6ff2fp-1,  -0x1.aed930ef5e819p-2,
    0x1.d9f129a63a740p-2,  -0x1.5c7c1fc7bbc3ap-2, 0x1.48843695c4a26p-3,  -0x1.ca8de6771e8adp-1,
    0x1.20b9432ec4ee5p-3,  0x1.761823759b1c8p-1,  -0x1.f4622dd864988p-3, 0x1.1a0b558c8fc95p-1,
    -0x1.21438f0a3bb7bp-1, 0x1.8306d262fec98p-2,  -0x1.dcfa2bbaf6e47p-1, 0x1.f4064366d19dfp-6,
    0x1.d022d8981b201p-1,
};

inline constexpr double kAdamWDecay[] = {
    -0x1.5e848e8b259e1p-1, 0x1.d235d15fb64bcp-8,  0x1.a1172ce1da453p-1,  -0x1.8b29117b874c6p-2,
    0x1.be456181865e7p-2,  -0x1.59f299991ce48p-2, 0x1.614a4d1ea89e1p-3,  -0x1.b699580a790e8p-1,
    0x1.df5563f931304p-4,  0x1.6d2e3b916160bp-1,  -0x1.d02ec74f2206bp-3, 0x1.08555e6c6028fp-1,
    -0x1.1bc603a8632b7p-1, 0x1.772a2e817e83bp-2,  -0x1.c65d7ad253b65p-1, 0x1.800bdcc5e9a18p-6,
    0x1.bd9dd2a31f2c1p-1,
};

inline constexpr double kClipped[] = {
    -0x1.7e61aef0effcbp-1, 0x1.56201f8dbb485p-10, 0x1.8aab11c759404p-1,  -0x1.10b5733177cb7p-2,
    0x1.d6e7a866b11b1p-2,  -0x1.d465434d6cc05p-2, 0x1.047320f9d817dp-2,  -0x1.a026dc19fb595p-1,
    0x1.76baf6859a30ep-6,  0x1.8c45c05d1ac47p-1,  -0x1.ffa4e1393ac53p-3, 0x1.019e510f10033p-1,
    -0x1.17a15599b9c1bp-1, 0x1.28c674e319667p-2,  -0x1.9212e242ef58ap-1, 0x1.e01cee6c966c4p-8,
    0x1.9aa972ae63594p-1,
};

inline constexpr double kClipNorms[] = {
    0x1.aaeee979b4838p+0, 0x1.9b0c25315c2cep+0, 0x1.a9bb78af6cabcp+0, 0x1.51241356cf6e0p+0,
    0x1.a9bb78af6cabcp+0, 0x1.9b0c25315c2cep+0, 0x1.aaeee979b4837p+0, 0x1.9608d3c41fb4bp+0,
    0x1.a000000000000p+0, 0x1.a000000000000p+0,
};

}  // namespace ingot::golden
